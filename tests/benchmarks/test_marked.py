"""Sets that people marked: the official scores by hand, what is missing is said, and the table of a record."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from analysis.datasets.example import Example
from analysis.evidence.record import find_record
from analysis.survival.labelled import Signal
from analysis.survival.ladder import ladder_of
from benchmarks.marked import COLUMNS, Judged, finding_of, record_of
from benchmarks.marked.official import Official, Soft, above, correlation, overlap, spans_of
from benchmarks.marked.reading import FOLDER, PARTS, VALIDATION, Read, one_of_each, read_all
from benchmarks.survival import Claims
from benchmarks.token_simulations import simulated_tokens
from rauq.errors import InvalidInput


@pytest.mark.parametrize(
    ("marked", "found", "value"),
    [
        ([(0, 4)], [(2, 6)], 2 / 6),
        ([(0, 2), (1, 4)], [(0, 4)], 1),
        ([], [], 1),
        ([(0, 1)], [], 0),
        ([(0, 2)], [(2, 4)], 0),
    ],
)
def test_overlap_counts_characters(marked, found, value):
    assert overlap(marked, found) == pytest.approx(value)


def test_correlation_is_that_of_characters_and_constant_only_with_constant():
    marked, found = [Soft(0, 2, 0.5), Soft(3, 5, 1.0)], [Soft(0, 1, 3.0), Soft(4, 6, -2.0)]
    expected = spearmanr([0.5, 0.5, 0, 1, 1, 0], [3, 0, 0, 0, -2, -2]).statistic
    assert correlation(marked, found, 6) == pytest.approx(expected)
    assert correlation([], [Soft(0, 6, 1.0)], 6) == 1
    assert correlation([], [Soft(0, 3, 1.0)], 6) == 0


def test_tokens_give_their_value_to_their_characters():
    found = spans_of(["It", " is", "", "."], np.array([1.0, 2.0, 9.0, 0.5]))
    assert found == [(0, 2, 1.0), (2, 5, 2.0), (5, 5, 9.0), (5, 6, 0.5)]
    assert above(found, 0.9) == [(0, 2), (2, 5), (5, 5)]


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_without_its_files_it_says_where_they_go(folder, monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, folder and str(tmp_path / folder))
    with pytest.raises(InvalidInput, match=f"{FOLDER}; there is no"):
        next(read_all())


def test_parts_have_ids_of_their_own():
    parts = (*PARTS, VALIDATION)
    assert len({part.id for part in parts}) == len(parts)


def test_of_each_source_one_answer_with_a_wrong_span_is_drawn():
    examples = [
        Example(id=f"{source}{number}", prompt="p", source=source, wrong_spans=((0, 1),) if number else ())
        for source in "abc"
        for number in range(4)
    ]
    drawn = one_of_each([*examples, Example(id="d", prompt="p", source="d")])
    assert [one.source for one in drawn] == ["a", "b", "c"]
    assert all(one.wrong_spans for one in drawn)
    assert len({one.id[1] for one in drawn}) > 1  # not always the same place
    assert drawn == one_of_each([*examples, Example(id="d", prompt="p", source="d")])


def test_a_record_has_a_row_for_each_signal_and_a_bound_for_each_comparison(tmp_path):
    given, risk = simulated_tokens(np.random.default_rng(3), 25)
    signal = Signal(name="mine", values=risk, replaced={})
    read = Read(title="Made", model="atlas", file=tmp_path, run=None, given=given, signals=[signal])
    judged = Judged(
        read, (ladder_of(given, signal),), Official({"mine": (0.1234, 0.5), "control: position": (0.3, 0.4)}, 0.0)
    )
    record = record_of([judged], [Claims(25, 3, 100), Claims(25, 9, 100)])
    row, control = record.rows
    assert control[2:4] == ("control: position", "–")
    assert control[-3:] == ("–", "0.300", "0.400")
    assert len(row) == len(COLUMNS) == len(record.columns)
    assert row[-2:] == ("0.123", "0.500")
    assert [bound.met for bound in record.bounds] == [True, True, False]
    said = "0 of 1 signals survive the controls."
    assert record.finding == f"{said} In 1 of 1 sets a control correlates more with people's marks than any signal."
    assert record_of([judged._replace(official=Official({}, 0.0))], []).finding == said
    behind = Official({"mine": (-0.1, 0.5), "control: position": (-0.2, 0.4)}, 0.0)
    assert "In 0 of 1 sets" in record_of([judged._replace(official=behind)], []).finding


def test_the_kept_record_says_what_its_rows_show():
    kept = find_record("marked")
    assert kept.finding == finding_of(kept.rows)
    survive = {(row[1], row[2]) for row in kept.rows if row[-3] == "yes"}
    assert survive == {
        ("smollm2", "Collapse"),
        ("smollm2", "Entropy"),
        ("gemma3-270m", "Collapse"),
    }
