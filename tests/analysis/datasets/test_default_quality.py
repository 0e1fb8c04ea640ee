"""How answers are judged where nobody says how: by how long the references are, and why, in a sentence."""

import pytest

from analysis.datasets.example import Example, default_quality
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import examples_from
from analysis.datasets.understood import understand

LONG = "Because the light of the Sun is scattered by the air."


def rows(*references):
    return [Example(id=str(at), prompt="?", references=own) for at, own in enumerate(references)]


@pytest.mark.parametrize(
    ("references", "measure"),
    [
        ([("Baku",)] * 3, "contains"),
        ([("One Hundred Years of Solitude",)], "contains"),
        ([(LONG,)], "token_f1"),
        ([(LONG, "scattering")], "contains"),
        ([("Baku",)] * 9 + [(LONG,)], "contains"),
        ([("Baku",)] * 8 + [(LONG,)] * 2, "token_f1"),
        ([("東京スカイツリー",)], "contains"),
        ([("東京は日本の首都であり、世界最大の都市の一つです。",)], "token_f1"),
        ([(), ("Baku",)], "contains"),
        ([()], "none"),
        ([], "none"),
    ],
)
def test_short_references_are_named_and_long_ones_overlap(references, measure):
    chosen, reason = default_quality(rows(*references))
    assert chosen == measure
    assert bool(reason) == (measure != "none")


def test_the_reason_counts_the_rows_that_have_a_reference():
    assert default_quality(rows(("Baku",), ("Oslo",), ()))[1].startswith("2 of 2 rows have a reference of at most 5 w")
    assert default_quality(rows((LONG,), ("Oslo",)))[1].startswith("Only 1 of 2 rows have")


def test_a_file_of_names_is_judged_by_names_and_one_with_verdicts_by_them():
    named = read_table(b"prompt,reference\nCapital?,Baku\n", "a.csv")
    assert examples_from(named, understand(named).columns).quality == "contains"
    judged = read_table(b"prompt,reference,answer,correct\nCapital?,Baku,Oslo,1\n", "a.csv")
    data = examples_from(judged, understand(judged).columns)
    assert (data.quality, data.quality_reason) == ("given", "The column 'correct' gives the quality of the answers.")
