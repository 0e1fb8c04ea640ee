"""CSV, TSV and other text with a delimiter, read as a table."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from analysis.datasets.example import Rejected
from analysis.datasets.formats.encodings import encoding_of, lines_of
from analysis.datasets.table import MOST_ROWS, Table, cut_note, left_in, make_table
from rauq.errors import InvalidInput

_DELIMITERS: Mapping[str, str] = MappingProxyType({",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"})
_NONE = "\x1f"  # of a file with one column; no text has it
_FIRST_LINE = re.compile(r'"?sep=([^\w"\r\n])"?\s*', re.IGNORECASE)  # for Excel, which does not show it
_SAMPLE = 20  # records
MOST_VALUES = 1_000_000  # of one line


class _Broken(NamedTuple):
    """Why a record cannot be divided into cells; `last`: the start of the next one is unknown."""

    reason: str
    last: bool


def read_csv(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows below the header; a row with more or fewer cells than the header is rejected.

    Raises:
        InvalidInput: no header, no row, an export of Anki, a line of more than 1,000,000 cells, or an unknown encoding.
    """
    encoding, notes = encoding_of(content, name)
    if next(lines_of(content, encoding), "").startswith("#separator:"):
        message = (
            f"{name} is an export of Anki, whose columns have no names. Delete the lines that begin with # and write "
            "the names of the columns in the first line."
        )
        raise InvalidInput(message)
    delimiter, said = _delimiter(content, encoding, Path(name).suffix.lower())
    records = _records(content, encoding, delimiter)
    header = next(records, None)
    if not isinstance(header, list):
        message = (
            f"{name} has no header: {header.reason if header else 'it is empty.'} Name the columns in the first row."
        )
        raise InvalidInput(message)
    read: dict[int, list[str]] = {}
    rejected = []
    for number, record in enumerate(islice(records, rows), 1):
        if reason := _reason(record, len(header)):
            rejected.append(Rejected(number, reason))
        elif isinstance(record, list):
            read[number] = record
    left_out = cut_note(left_in(records), rows=rows)
    return make_table(name, header, read, rejected=rejected, notes=(*notes, *said, *left_out))


def _records(content: bytes, encoding: str, delimiter: str) -> Iterator[list[str] | _Broken]:
    """Every record that is no empty line; the last one is broken where a quote is never closed."""
    reader = csv.reader(_narrow(_lines(content, encoding), delimiter), delimiter=delimiter, strict=True)
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


def _lines(content: bytes, encoding: str) -> Iterator[str]:
    """The lines; one that only names the delimiter is empty, so that the others keep their numbers."""
    lines = lines_of(content, encoding)
    first = next(lines, "")
    return chain(["\n" if _FIRST_LINE.fullmatch(first) else first], lines)


def _narrow(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """The lines, counted before they are divided: a million empty cells fit into a megabyte."""
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_VALUES and (cells := line.count(delimiter)) > MOST_VALUES:
            message = (
                f"Line {number} has {cells:,} cells; at most {MOST_VALUES:,} can be read. Remove unneeded columns."
            )
            raise InvalidInput(message)
        yield line


def _broken(error: csv.Error, start: int, end: int) -> _Broken:
    if start == end and "end of data" not in str(error):
        what = (
            "has a cell that is too long"
            if "limit" in str(error)
            else "is not valid CSV. Double the quotes inside quotes"
        )
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
    return f"it has {cells}, but the header has {width}. Quote cells that contain the delimiter."


def _delimiter(content: bytes, encoding: str, ending: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter that the first line names, or else that of the content, and a note on one that is not expected."""
    if named := _FIRST_LINE.fullmatch(next(lines_of(content, encoding), "")):
        return named[1], (f"The first line says that {named[1]!r} separates the columns.",)
    widths = {delimiter: _widths(content, encoding, delimiter) for delimiter in _DELIMITERS}
    found = max(widths, key=lambda delimiter: _fit(widths[delimiter]))
    if max(widths[found], default=1) == 1 or widths[found][0] == 1:
        return next(filter(lambda delimiter: _is_header_short(widths[delimiter]), widths), _NONE), ()
    expected = "\t" if ending == ".tsv" else ","
    return found, () if found == expected else (f"The columns are separated by {_DELIMITERS[found]}.",)


def _widths(content: bytes, encoding: str, delimiter: str) -> list[int]:
    """How many cells the first records have."""
    records = islice(_records(content, encoding, delimiter), _SAMPLE)
    return [len(record) for record in records if isinstance(record, list)]


def _fit(widths: list[int]) -> tuple[bool, int, int]:
    """How well records are divided: into several columns, in as many records as can be, into as many as can be."""
    width = widths[0] if widths else 0
    return width > 1, widths[1:].count(width), width


def _is_header_short(widths: list[int]) -> bool:
    """Whether the header names one column, and every row has the same number of more: a name is missing."""
    return len(widths) > 2 and widths[1] > 1 and len(set(widths[1:])) == 1
