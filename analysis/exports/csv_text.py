"""Every table that leaves this project as CSV; no text in it is taken for a formula.

A text that a spreadsheet would run gets a single quote in front. Encode the tables as plain UTF-8: a byte-order mark
would become a part of the first column's name wherever it is not expected, and spreadsheets can be told the encoding
when they import.
"""

import csv
import io
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FORMULA_STARTS = frozenset("=+-@\t\r\n")
_LINE_END = "\r\n"  # both, since only a cell with a character of it is quoted, and either alone may end a line


def csv_rows(names: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV: numbers have all their digits, an undefined one is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=_LINE_END)
    writer.writerow(map(as_text, names))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def csv_columns(columns: Mapping[str, Sequence[object]]) -> str:
    """Columns by their names as CSV."""
    return csv_rows(tuple(columns), zip(*columns.values(), strict=True))


def csv_table(frame: "pd.DataFrame") -> str:
    """A frame as CSV, without its index; numbers have all their digits."""
    harmless = frame.map(_text_cell).astype(frame.dtypes)
    written: str = harmless.rename(columns=_text_cell).to_csv(index=False, lineterminator=_LINE_END)
    return written


def as_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula: where one would, a single quote is put in front."""
    return f"'{text}" if unicodedata.normalize("NFKC", text[:1]) in _FORMULA_STARTS else text


def _text_cell(value: object) -> object:
    return as_text(value) if isinstance(value, str) else value


def _cell(value: object) -> object:
    match value:
        case float():
            return "" if math.isnan(value) else value
        case bool():
            return str(value).lower()
        case _:
            return _text_cell(value)  # csv leaves None empty
