"""Tables as CSV: whatever the texts are, no cell is a formula to a spreadsheet; numbers stay numbers."""

import csv
import io
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.exports.csv_text import as_text, csv_columns, csv_rows, csv_table

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
BEFORE = ("", "a", "a,", 'a"', 'a",', "a\r", "a\n", "a\r\n", "a;", '"', " ")
WRITERS = {
    "rows": lambda cells: csv_rows(cells, [cells]),
    "columns": lambda cells: csv_columns({cell: [cell] for cell in cells}),
    "frame": lambda cells: csv_table(pd.DataFrame([cells], columns=cells)),
}


def lines(written):
    """The cells as a spreadsheet reads them: outside quotes, each of both line ends is one."""
    return [row for row in csv.reader(io.StringIO(written, newline="")) if row]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_no_text_is_a_formula_wherever_it_stands(write):
    cells = [f"{before}{start}1+cmd|' /C calc'!A0" for before in BEFORE for start in STARTS]
    written = lines(write(cells))
    assert written == [list(map(as_text, cells))] * 2
    assert [cell for row in written for cell in row if cell.startswith(STARTS)] == []


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_other_texts_stay(write):
    cells = ["a=b", "'=", "·=1", "é", "a,b", 'a"b']
    assert lines(write(cells)) == [cells] * 2


def test_numbers_stay_numbers():
    assert csv_rows(("n",), [[-1], [-0.1], [np.float64(-0.1)], [float("nan")], [float("-inf")], [True], [None]]) == (
        'n\r\n-1\r\n-0.1\r\n-0.1\r\n""\r\n-inf\r\ntrue\r\n""\r\n'
    )
    assert csv_table(pd.DataFrame({"n": [-0.1, np.nan], "m": [-1, 2]})) == "n,m\r\n-0.1,-1\r\n,2\r\n"


def test_streamlit_s_own_download_of_a_table_is_off():
    config = tomllib.loads((Path(__file__).parents[3] / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert config["client"]["disableDataExport"] is True
