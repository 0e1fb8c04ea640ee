"""CSV as people have it: commas, semicolons or tabs, quotes, and rows that do not fit their header."""

import csv
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from analysis.datasets.encoding import encoding_of, lines_of
from analysis.datasets.example import Rejected
from analysis.datasets.table import MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput

_DELIMITERS = (",", ";", "\t")
_LOOK = 20


class _Broken(NamedTuple):
    """Why a record cannot be divided into cells; `last`: it cannot be told where the next one starts."""

    reason: str
    last: bool


def read_csv(content: bytes, name: str) -> Table:
    """The rows below the header; a row with more or fewer cells than the header is rejected.

    Raises:
        InvalidInput: no header, no row, or an encoding that is not known.
    """
    encoding, notes = encoding_of(content, name)
    records = _records(content, encoding, _delimiter(content, encoding))
    header = next(records, None)
    if not isinstance(header, list):
        message = f"{name} has no header: {header.reason if header else 'it is empty'}. Give the columns' names there."
        raise InvalidInput(message)
    rows: dict[int, list[str]] = {}
    rejected = []
    for number, record in enumerate(islice(records, MOST_ROWS), 1):
        if reason := _reason(record, len(header)):
            rejected.append(Rejected(number, reason))
        elif isinstance(record, list):
            rows[number] = record
    left_out = cut_note(sum(1 for _ in records))
    return make_table(name, header, rows, rejected=rejected, notes=(*notes, *left_out))


def _records(content: bytes, encoding: str, delimiter: str) -> Iterator[list[str] | _Broken]:
    """Every record that is no empty line; the last one is broken where a quote is never closed."""
    reader = csv.reader(lines_of(content, encoding), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            if record := next(reader):
                yield record
        except StopIteration:
            return
        except csv.Error as error:
            broken = _broken(error, start, reader.line_num)
            yield broken
            if broken.last:
                return


def _broken(error: csv.Error, start: int, end: int) -> _Broken:
    if start == end and "end of data" not in str(error):
        what = "has too long a cell" if "limit" in str(error) else "is no CSV. Double the quotes inside quotes"
        return _Broken(f"line {start} {what} ({error}).", last=False)
    return _Broken(
        f"a quote opened in line {start} is not closed where the cell ends ({error}), "
        f"so nothing from line {start} on can be divided into rows. Double the quotes inside quotes.",
        last=True,
    )


def _reason(record: list[str] | _Broken, width: int) -> str:
    if isinstance(record, _Broken):
        return record.reason
    if len(record) == width:
        return ""
    cells = f"{len(record)} cell{'' if len(record) == 1 else 's'}"
    return f"it has {cells}, and the header has {width}. Quote cells that hold the delimiter."


def _delimiter(content: bytes, encoding: str) -> str:
    return max(_DELIMITERS, key=lambda delimiter: _fit(list(islice(_records(content, encoding, delimiter), _LOOK))))


def _fit(records: list[list[str] | _Broken]) -> tuple[bool, int, int]:
    """How well records are divided: into several columns, in as many records as can be, into as many as can be."""
    widths = [len(record) for record in records if isinstance(record, list)]
    width = widths[0] if widths else 0
    return width > 1, widths[1:].count(width), width
