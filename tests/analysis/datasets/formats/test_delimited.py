"""Delimiters are recognised by the content, and columns are those that the writer meant."""

import pandas as pd
import pytest

from analysis.datasets.formats.delimited import _DELIMITERS, read_csv
from rauq.errors import InvalidInput

ROWS = [
    {"prompt": "Is it 1,5; or 2?", "reference": "1,5", "note": "a|b"},
    {"prompt": 'He said "so,\nit\tis"', "reference": "x;y", "note": ""},
    {"prompt": "Why?", "reference": "sep=;", "note": "|"},
]


def read(text, name="a.csv"):
    return read_csv(text.encode(), name)


def rows_of(table):
    return table.rows.to_dict("records")


@pytest.mark.parametrize("begin", ["", "sep={}\r\n", '"SEP={}"\n'])
@pytest.mark.parametrize("delimiter", [*_DELIMITERS, "^"])
def test_every_delimiter_gives_the_rows_that_were_written_and_is_said(delimiter, begin):
    text = pd.DataFrame(ROWS).to_csv(index=False, sep=delimiter)
    table = read(begin.format(delimiter) + text)
    if begin:
        assert table.notes == (f"The first line says that {delimiter!r} separates the columns.",)
    elif delimiter == "^":
        assert len(table.columns) == 1
        return
    else:
        said = {",": (), ";": ("semicolons",), "\t": ("tabs",), "|": ("pipes",)}[delimiter]
        assert table.notes == tuple(f"The columns are separated by {name}." for name in said)
    assert rows_of(table) == ROWS


@pytest.mark.parametrize(
    ("text", "columns", "rejected"),
    [
        ("prompt;answer, short\nIs it a or b?;a\n", ("prompt", "answer, short"), 0),
        ("prompt\tn\nIs it a, or b, or c?\t1\n", ("prompt", "n"), 0),
        ("prompt;score\nQ;0,5\nR;0,7\n", ("prompt", "score"), 0),
        ("prompt|a\nA, or b, or c?|1\nD, or e?|2\n", ("prompt", "a"), 0),
        ("prompt\nIs it a, or b?\nSo?\nFirst; then | it\n", ("prompt",), 0),
        ("prompt\nIs it a, or b?\n", ("prompt",), 0),
        ("prompt\nQ,A\nR,B\n", ("prompt",), 2),  # the header names one column of two
        (",prompt\n0,Why\n", ("column 1", "prompt"), 0),
        (" prompt , answer \na,b\n", ("prompt", "answer"), 0),
        ("sep=\nfirst\n", ("sep=",), 0),
    ],
)
def test_columns_are_those_of_the_header(text, columns, rejected):
    if rejected:
        with pytest.raises(ValueError, match="it has 2 cells, but the header has 1"):
            read(text)
        return
    table = read(text)
    assert (table.columns, table.rejected) == (columns, ())


def test_a_line_that_names_the_delimiter_is_no_row_and_counts_as_a_line():
    table = read('sep=;\na;b\n1;2\n3;"x"y\n')
    assert list(table.rows.index) == [1]
    assert "line 4 is not valid CSV" in table.rejected[0].reason


def test_an_export_without_names_of_columns_is_refused():
    with pytest.raises(InvalidInput, match=r"is an export of Anki, whose columns have no names\. Delete the lines"):
        read("#separator:tab\n#html:true\nQ\tA\n")
