"""A record is kept as it was measured, and what is damaged is named."""

import math
from typing import get_args

import pytest

from analysis.evidence import record as module
from analysis.evidence.record import Verdict, records, save, shown
from rauq.errors import InvalidInput
from tests.evidence import INCONCLUSIVE, KEPT, MISSED, make_record


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FOLDER", tmp_path / "records")
    return tmp_path / "records"


def test_without_a_folder_there_is_no_record():
    assert records() == {}


def test_a_saved_record_is_read_back(folder):
    kept = make_record(
        rows=((2_000, "1e-3"), (1, 1e-9)), bounds=(KEPT, INCONCLUSIVE, MISSED), notes=("Über <b>all</b>\n$x$",)
    )
    save(kept, folder)
    save(make_record("runs"), folder)
    assert records() == {"runs": make_record("runs"), "scoring": kept}


def test_a_missing_number_stays_nan(folder):
    save(make_record(rows=((1, math.nan),)), folder)
    assert math.isnan(records()["scoring"].rows[0][1])


def test_a_later_record_takes_the_place_of_the_one_before(folder):
    save(make_record(title="before"), folder)
    save(make_record(title="after"), folder)
    assert records()["scoring"].title == "after"


def test_a_row_that_lacks_a_cell_is_refused():
    with pytest.raises(InvalidInput, match="2 columns, but a row has 1 cells"):
        make_record(rows=((1,),))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id": "scoring"}', '{"made": "yesterday"}', "\xff"])
def test_a_damaged_record_is_named(folder, text):
    folder.mkdir()
    (folder / "scoring.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"record scoring\.json cannot be read"):
        records()


def test_a_record_is_met_if_no_bound_is_missed():
    assert make_record(bounds=()).met
    assert make_record(bounds=(KEPT, INCONCLUSIVE)).met
    assert not make_record(bounds=(KEPT, MISSED)).met


def test_a_bound_has_one_of_three_verdicts():
    assert tuple(bound.verdict for bound in (MISSED, INCONCLUSIVE, KEPT)) == get_args(Verdict)


def test_a_column_is_read_by_its_name():
    assert make_record(columns=("a", "b"), rows=((1, "x"), (2, "y"))).column("b") == ("x", "y")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        *((2_640, "2,640"), (0.90412, "0.904"), (4.83e-6, "4.83e-06"), (12_345.6, "12,346"), (math.nan, "-")),
        *(("text", "text"), (0.0, "0")),
    ],
)
def test_a_cell_is_written_for_a_reader(cell, text):
    assert shown(cell) == text
