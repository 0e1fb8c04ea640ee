"""The claims of Evidence: counted from the rows of a record, and never more than these show."""

import re
from dataclasses import replace

import pytest

from analysis.evidence.claims import CLAIMS, Quote, quote_of
from analysis.evidence.record import records
from tests.evidence import make_record

BY_RECORD = {claim.record: claim for claim in CLAIMS}
KEPT = records()


def quoted(name, **changed):
    """The claim of a kept record whose first row has other cells in these columns."""
    record = KEPT[name]
    columns = {column.replace(" ", "_"): place for place, column in enumerate(record.columns)}
    first = list(record.rows[0])
    for column, cell in changed.items():
        first[columns[column]] = cell
    return quote_of(BY_RECORD[name], replace(record, rows=(tuple(first), *record.rows[1:])))


def test_every_claim_has_the_number_of_its_record():
    assert "RAUQ with shuffled attention in 0." in KEPT["real_models"].finding
    assert quoted("real_models").number == "0 of 6"
    for name in ("reference", "fuzz"):
        figures = re.findall(r"\d[\d,]*", quoted(name).rest)
        assert figures
        assert all(figure in KEPT[name].finding for figure in figures)
    assert quoted("overhead").number in KEPT["overhead"].finding


@pytest.mark.parametrize(
    ("name", "changed", "number"),
    [
        ("real_models", {"minus_RAUQ_with_shuffled_attention": "+0.2 [+0.1, +0.3] better"}, "1 of 6"),
        ("models", {"read": 1.0}, "34 of 35"),
        ("models", {"padded,_read": float("nan")}, "34 of 35"),
        ("reference", {"largest_relative_difference": 1.0}, "24 of 25"),
        ("fuzz", {"faults": 3}, "3"),
    ],
)
def test_a_row_that_fails_is_counted(name, changed, number):
    assert quoted(name, **changed).number == number


def test_a_record_without_the_columns_is_quoted_by_its_finding():
    for claim in CLAIMS:
        assert quote_of(claim, make_record(claim.record)) == Quote(number="", rest="It is fast.")
