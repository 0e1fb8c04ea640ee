"""A file's rows as they were read: their cells, and what was left out."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any

import pandas as pd

from analysis.datasets.example import Rejected
from rauq.errors import InvalidInput

MOST_ROWS = 100_000
MOST_COLUMNS = 200
_MOST_COUNTED = 1_000_000  # rows that are not read


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Every row that could be read, every one that could not, and notes on what was done on the way.

    `rows`: values as in the file, None where a row has none; the index is the row's number, counted from 1 below the
    header, in JSONL the line's number.
    """

    name: str
    rows: pd.DataFrame
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.rows.columns)


def make_table(
    name: str,
    columns: Sequence[str],
    rows: Mapping[int, Sequence[Any]],
    *,
    rejected: Sequence[Rejected] = (),
    notes: Sequence[str] = (),
) -> Table:
    """A table of checked columns and at least one row; `rows` by their numbers.

    Raises:
        InvalidInput: no row, no column, one that stands twice or whose name is no text, or more than 200 columns.
    """
    checked = _checked(name, columns)
    if not rows:
        raise InvalidInput(_why_empty(name, rejected))
    if not checked:
        message = f"{name} has only empty rows. Give each row at least a prompt."
        raise InvalidInput(message)
    frame = pd.DataFrame(list(rows.values()), columns=checked, index=list(rows), dtype=object)
    return Table(name=name, rows=frame, rejected=tuple(rejected), notes=tuple(notes))


def left_in(rows: Iterable[object]) -> int:
    """How many rows are left, counted up to one more than a note tells."""
    return sum(1 for _ in islice(rows, _MOST_COUNTED + 1))


def cut_note(left_out: int, *, rows: int) -> tuple[str, ...]:
    """What is said about rows beyond the first `rows`; nothing where there are none."""
    if not left_out:
        return ()
    more = f"{left_out:,}" if left_out <= _MOST_COUNTED else f"more than {_MOST_COUNTED:,}"
    return (f"The first {rows:,} rows were read; {more} more were left out. Split the file to use them.",)


def _checked(name: str, columns: Sequence[str]) -> list[str]:
    # A header without a name is what tables written with their index have.
    named = [
        text(column, f"header of column {place}").strip() or f"column {place}"
        for place, column in enumerate(columns, 1)
    ]
    if len(named) > MOST_COLUMNS:
        message = f"{name} has {len(named):,} columns; at most {MOST_COLUMNS} are read. Remove unneeded ones."
        raise InvalidInput(message)
    if twice := [column for column, count in Counter(named).items() if count > 1]:
        message = f"{name} has the column {twice[0]!r} more than once. Give every column a unique name."
        raise InvalidInput(message)
    return named


def _why_empty(name: str, rejected: Sequence[Rejected]) -> str:
    if rejected:
        first = rejected[0]
        return f"No row of {name} can be read. Row {first.row}: {first.reason}"
    return f"{name} has no rows. Give a file with a header and at least one row below it."


LONGEST_TEXT = 100_000  # characters
_DEEPEST = 8  # lists and objects within each other
_SCALARS = str | bool | int | float | Decimal


@dataclass(frozen=True)
class Unusable:
    """A cell that no row can use; `why` follows the name of its column."""

    why: str


def text(cell: Any, column: str) -> str:  # noqa: ANN401 - a cell of a user's file
    """The cell as text, numbers as they are written; "" where there is none: an empty cell, nan or infinity."""
    if cell is None or _is_undefined(cell):
        return ""
    if why := _fault(cell, LONGEST_TEXT):
        message = f"{column!r} {why}"
        raise InvalidInput(message)
    return str(cell)


def filled(cell: Any, column: str) -> str:  # noqa: ANN401
    """The cell as text that is more than spaces."""
    if _is_undefined(cell):
        message = f"{column!r} holds {cell}; a text or a number is needed."
        raise InvalidInput(message)
    words = text(cell, column)
    if not words.strip():
        message = f"{column!r} is empty."
        raise InvalidInput(message)
    return words


_WHOLE = re.compile(r"-?\d+\.0")  # as pandas writes whole numbers of a column in which some are missing


def with_whole_numbers(table: Table, columns: Sequence[str]) -> Table:
    """The table with 1969 for 1969.0 in those of these columns where every number is written so, and a note on each."""
    whole: dict[str, list[str | None]] = {}
    for column in columns:
        cells = ["" if cell is None else str(cell).strip() for cell in table.rows[column]]
        numbers = [cell for cell in cells if cell]
        if len(numbers) > 1 and all(map(_WHOLE.fullmatch, numbers)):
            whole[column] = [cell.removesuffix(".0") or None for cell in cells]
    notes = tuple(f"The numbers in {column!r} end with .0 and are read as whole numbers." for column in whole)
    return replace(table, rows=table.rows.assign(**whole), notes=(*table.notes, *notes)) if whole else table


def number(cell: Any, column: str) -> float | None:  # noqa: ANN401
    """A finite number; None where the cell is empty."""
    words = str(cell) if _is_undefined(cell) else text(cell, column).strip()
    if not words:
        return None
    try:
        value = float(cell) if isinstance(cell, bool) else float(words.replace("_", "?"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"{column!r} is {words[:40]!r}; a finite number is needed, with a point before decimals."
        raise InvalidInput(message)
    return value


def _is_undefined(cell: Any) -> bool:  # noqa: ANN401
    """Whether a cell is nan or infinity, which programs write where there is no number."""
    return isinstance(cell, float) and not math.isfinite(cell)


def plain(cell: Any, longest: int, *, depth: int = _DEEPEST) -> Any:  # noqa: ANN401
    """The cell as JSON can hold it: a text, a number, a list or an object of them, none, or, if no row can use it, why.

    A text, or what a list or an object holds, has at most `longest` characters together.
    """
    if isinstance(cell, list | tuple | dict):
        return _plain_structure(cell, longest, depth)
    if cell is None or isinstance(cell, Unusable) or _is_undefined(cell):
        return cell
    if why := _fault(cell, longest):
        return Unusable(why)
    return str(cell) if isinstance(cell, Decimal) else cell


def _plain_structure(cell: list[Any] | tuple[Any, ...] | dict[Any, Any], longest: int, depth: int) -> Any:  # noqa: ANN401
    if not depth:
        return Unusable("is nested too deeply.")
    if isinstance(cell, dict) and not all(isinstance(key, str) for key in cell):
        return Unusable(_fault(cell, longest))
    values = cell.values() if isinstance(cell, dict) else cell
    entries = [plain(value, longest, depth=depth - 1) for value in values]
    copy = dict(zip(cell, entries, strict=True)) if isinstance(cell, dict) else entries
    characters = _characters(copy)
    return copy if characters <= longest else Unusable(_too_long(characters, longest))


def _characters(cell: Any) -> int:  # noqa: ANN401
    """How many characters the texts of a cell have, with one more for each entry of a list or an object."""
    if isinstance(cell, dict):
        return sum(len(key) + _characters(value) + 1 for key, value in cell.items())
    return sum(_characters(value) + 1 for value in cell) if isinstance(cell, list) else len(str(cell))


def _fault(cell: Any, longest: int) -> str:  # noqa: ANN401
    """Why a cell is not a text or a number that a row can use; empty if it is."""
    if isinstance(cell, Unusable):
        return cell.why
    if not isinstance(cell, _SCALARS):
        return f"holds {_kind(cell)}; a text or a number is needed."
    words = str(cell)
    if len(words) > longest:
        return _too_long(len(words), longest)
    if "\0" in words:
        return "contains a zero byte."
    if not words.isascii() and any("\ud800" <= letter <= "\udfff" for letter in words):
        return "is not valid Unicode: it contains a lone surrogate."
    return ""


def _too_long(characters: int, longest: int) -> str:
    return f"has {characters:,} characters; at most {longest:,} are allowed."


def _kind(cell: object) -> str:
    kinds = ((dict, "an object"), (list, "a list"), (bytes, "raw bytes"))
    return next((name for kind, name in kinds if isinstance(cell, kind)), f"a {type(cell).__name__}")
