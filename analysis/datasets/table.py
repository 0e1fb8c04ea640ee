"""A file's rows as they were read, before anything is made of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.datasets import cells
from analysis.datasets.example import Rejected
from rauq.errors import InvalidInput

MOST_ROWS = 100_000
MOST_COLUMNS = 200


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
        message = f"{name} has rows, but none of them holds anything. Give each at least a prompt."
        raise InvalidInput(message)
    frame = pd.DataFrame(list(rows.values()), columns=checked, index=list(rows), dtype=object)
    return Table(name=name, rows=frame, rejected=tuple(rejected), notes=tuple(notes))


def cut_note(left_out: int) -> tuple[str, ...]:
    """What is said about rows beyond the bound; nothing where there are none."""
    if not left_out:
        return ()
    return (f"The first {MOST_ROWS:,} rows were read; {left_out:,} more were left out. Split the file to use them.",)


def _checked(name: str, columns: Sequence[str]) -> list[str]:
    # A header without a name is what tables written with their index have.
    named = [
        cells.text(column, f"header of column {place}").strip() or f"column {place}"
        for place, column in enumerate(columns, 1)
    ]
    if len(named) > MOST_COLUMNS:
        message = f"{name} has {len(named):,} columns; at most {MOST_COLUMNS} are read. Leave out what is not needed."
        raise InvalidInput(message)
    if twice := [column for column, count in Counter(named).items() if count > 1]:
        message = f"{name} has the column {twice[0]!r} more than once. Give every column a name of its own."
        raise InvalidInput(message)
    return named


def _why_empty(name: str, rejected: Sequence[Rejected]) -> str:
    if rejected:
        first = rejected[0]
        return f"No row of {name} can be read. Row {first.row}: {first.reason}"
    return f"{name} has no rows. Give a file with a header and at least one row below it."
