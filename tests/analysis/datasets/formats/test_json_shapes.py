"""Rows are found wherever a program writes them into JSON; what may be meant in two ways is refused."""

import json

import pandas as pd
import pytest

from analysis.datasets.formats.json_text import read_json
from analysis.datasets.table import Unusable
from rauq.errors import InvalidInput

ROWS = [
    {"prompt": "Where?", "references": ["Oslo", "Norway"], "score": 0.5},
    {"prompt": "NA", "references": None, "score": None},
    {"prompt": "007", "references": "null", "score": 1.0},
]
FRAME = pd.DataFrame(ROWS, index=[4, 0, -1])
ONE_CONVERSATION = {"id": 7, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}
WRITTEN = {
    **{orient: FRAME.to_json(orient=orient) for orient in ("columns", "index", "split", "records", "table")},
    "frame with indent": FRAME.to_json(indent=2),
    "lines": FRAME.to_json(orient="records", lines=True),
    "list for each column": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
    "objects one after another": "\n".join(json.dumps(row, indent=1) for row in ROWS),
    "objects on one line": "".join(map(json.dumps, ROWS)),
    "list over lines": "[" + ",\n".join(map(json.dumps, ROWS)) + "]",
    "one list beside other things": json.dumps({"version": "1", "data": ROWS, "authors": ["me"]}, indent=1),
    "rows of a viewer": json.dumps(
        {"features": [{"name": "prompt"}], "rows": [{"row_idx": 0, "row": r} for r in ROWS]}
    ),
    "rows by number": json.dumps(dict(enumerate(ROWS))),
}


def read(content, name="a.json"):
    return read_json((content if isinstance(content, str) else json.dumps(content)).encode(), name)


def rows_of(table):
    return table.rows.to_dict("records")


@pytest.mark.parametrize("name", WRITTEN)
def test_every_shape_gives_the_rows_that_were_written(name):
    table = read(WRITTEN[name])
    found = [{key: row[key] for key in ROWS[0]} for row in rows_of(table)]
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, ROWS))
    assert (list(table.rows.index), table.rejected) == ([1, 2, 3], ())
    assert len(table.columns) == 3 or set(table.columns) - set(ROWS[0]) == {"index"}


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (ROWS[0], [ROWS[0]]),
        (ONE_CONVERSATION, [ONE_CONVERSATION]),
        ({"turns": ONE_CONVERSATION["messages"]}, [{"turns": ONE_CONVERSATION["messages"]}]),
        (
            {"conversations": [{"from": "human", "value": "Hi"}]},
            [{"conversations": [{"from": "human", "value": "Hi"}]}],
        ),
        ({"question": "Q", "choices": [{"text": "A"}]}, [{"question": "Q", "choices": [{"text": "A"}]}]),
        (
            {"q1": {"a": "x"}, "q2": {"b": "y"}},
            [{"a": "x", "key": "q1", "b": None}, {"a": None, "key": "q2", "b": "y"}],
        ),
        ([["Q", 1], ["R", 2]], [{"column 1": "Q", "column 2": 1}, {"column 1": "R", "column 2": 2}]),
        ({"columns": ["a", "b"], "data": [[1, 2]]}, [{"a": 1, "b": 2}]),
    ],
)
def test_one_value_is_a_row_or_a_table(value, rows):
    assert rows_of(read(json.dumps(value, indent=2))) == rows


def test_an_object_of_lists_in_json_lines_is_one_row():
    assert rows_of(read({"prompt": ["a", "b"]}, "a.jsonl")) == [{"prompt": ["a", "b"]}]
    assert rows_of(read({"prompt": ["a", "b"]}, "a.json")) == [{"prompt": "a"}, {"prompt": "b"}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": {"x": 1}, "b": {"x": 2}}, "may be rows or columns"),
        ({"0": {"1": 1}, "1": {"1": 2}}, "may be rows or columns"),
        ({"train": [{"a": 1}], "test": [{"a": 2}]}, "several lists of objects: 'train', 'test'. Save the one you mean"),
        ('[\n {"a": 1},\n {"a": 2},\n]', r"a bracket follows a comma: line [34], column \d+\). Remove that comma"),
        ('{"a": 1,\n}', r"a bracket follows a comma: line [12], column \d+\). Remove that comma"),
        ('[\n{"a": 1}\n{"a": 2}]', r"not valid JSON \(Expecting ',' delimiter: line 3, column 1\)"),
        ('[{"a": 1}] x', "not valid JSON"),
    ],
)
def test_what_cannot_be_told_or_parsed_is_refused_in_words(content, said):
    with pytest.raises(InvalidInput, match=said):
        read(content)


def test_an_error_costs_what_follows_it_and_no_object_before_it():
    table = read('{\n"a": 1\n}\n{\n"a": 2\n}\n{\n"a": ')
    assert rows_of(table) == [{"a": 1}, {"a": 2}]
    assert table.rejected[0].row == 3
    assert "line 8, column 6" in table.rejected[0].reason
    lines = read('{"a": 1,}\n{"a": 2}\n', "a.jsonl")
    assert (rows_of(lines), lines.rejected[0].row) == ([{"a": 2}], 1)
    assert "a bracket follows a comma: column" in lines.rejected[0].reason


def test_what_is_left_out_is_said():
    assert (
        "those of 'data'; what stands beside it is left out: 'version', 'authors'"
        in read(WRITTEN["one list beside other things"]).notes[0]
    )
    cut = read({"rows": [{"row": {"a": "x", "b": "y"}, "truncated_cells": ["b"]}]})
    assert isinstance(cut.rows["b"][1], Unusable)
    assert cut.rows["a"][1] == "x"
    ragged = read({"columns": ["a", "b"], "data": [[1, 2], [3]]})
    assert ragged.rejected[0].reason == "it has 1 cells, but the file names 2 columns."
