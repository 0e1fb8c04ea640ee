"""A DataFrame becomes the data set that the same rows in a file become."""

import json

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import examples_from
from analysis.datasets.understood import understand
from rauq.errors import InvalidInput

ROWS = [
    {"id": "a", "question": "Where?", "answer": "Oslo", "correct": True, "year": 1905, "facts": ["Oslo", "Norway"]},
    {"id": "b", "question": "When?", "answer": "Now", "correct": False, "year": None, "facts": None},
    {"id": "c", "question": None, "answer": "Never", "correct": False, "year": 7, "facts": None},
    {"id": "a", "question": "Again?", "answer": "Yes", "correct": True, "year": 8, "facts": None},
]


def test_rows_are_those_of_a_file():
    lines = "\n".join(map(json.dumps, ROWS)).encode()
    table = read_table(lines, "rows.jsonl")
    from_file = examples_from(table, understand(table).columns)
    found = analysis.data_set(pd.DataFrame(ROWS))
    assert found.examples == from_file.examples
    assert found.rejected == from_file.rejected
    assert [row.row for row in found.rejected] == [3]
    assert (found.quality, from_file.quality, found.name) == ("given", "given", "data frame")


def test_columns_are_named_and_whole_numbers_stay_whole():
    columns = analysis.Columns(prompt="question", references=("year",))
    found = analysis.data_set(pd.DataFrame(ROWS), columns, name="years", quality="exact_match")
    assert [example.references for example in found.examples] == [("1905",), (), ("8",)]
    assert (found.name, found.quality) == ("years", "exact_match")


def test_cells_of_numpy_and_pandas_are_plain():
    frame = pd.DataFrame(
        {
            "prompt": pd.Series(["a", "b", "c"], dtype="string"),
            "references": [np.array(["x", "y"]), ["z"], np.str_("w")],
            "quality": pd.Series([1, pd.NA, 3], dtype="Int64"),
            "answer": pd.Categorical(["p", "q", "r"]),
        }
    )
    found = analysis.data_set(frame)
    assert [example.references for example in found.examples] == [("x", "y"), ("z",), ("w",)]
    assert [example.quality for example in found.examples] == [1.0, None, 3.0]
    assert [example.answer for example in found.examples] == ["p", "q", "r"]


def test_a_cell_that_no_row_can_use_rejects_its_row():
    frame = pd.DataFrame({"prompt": ["a", "b\0", {"c": 1}, pd.Timestamp("2030-01-01"), "\ud800"]})
    found = analysis.data_set(frame)
    assert [example.prompt for example in found.examples] == ["a"]
    assert [row.row for row in found.rejected] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ([{"prompt": "a"}], "Got a list; give a pandas DataFrame"),
        (pd.DataFrame(), "has no rows"),
        (pd.DataFrame({"prompt": []}), "has no rows"),
        (pd.DataFrame({"prompt": [None, ""]}), "No row of data frame can be used. Row 1: 'prompt' is empty"),
        (pd.DataFrame([["a", "b"]], columns=["prompt", "prompt"]), "the column 'prompt' more than once"),
        (pd.DataFrame([["a"]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "header of column 1"),
        (pd.DataFrame(np.zeros((1, 201))), "has 201 columns"),
    ],
)
def test_a_frame_that_is_no_data_set_is_refused(frame, said):
    with pytest.raises(InvalidInput, match=said):
        analysis.data_set(frame)


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(InvalidInput, match="no column 'q'"):
        analysis.data_set(pd.DataFrame(ROWS), analysis.Columns(prompt="q"))


def test_rows_beyond_the_most_are_said(monkeypatch):
    monkeypatch.setattr("analysis.datasets.rows.MOST_IN_A_FILE", 2)
    found = analysis.data_set(pd.DataFrame({"prompt": list("abcd")}))
    assert len(found.examples) == 2
    assert "2 more were left out" in found.notes[0]
    assert not analysis.data_set(pd.DataFrame({"prompt": list("ab")})).notes
