"""A file or a DataFrame of the user with claims: spans of answers, each with its truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.datasets.cells import verdict
from analysis.datasets.own_files import read_file
from analysis.datasets.rows import table_of
from analysis.datasets.table import Table, filled, number, text
from rauq.errors import InvalidInput
from rauq.labels import listed

ID, ANSWER = "id", "answer"
NEEDED = ("start", "end", "text", "correct")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A span of an answer, in code points of the answer without its thinking; `end` is exclusive.

    `place`: the file and its row, for errors. The answer is named by its `id`, or, where that is "", by its text,
    `answer`. `text`: what the span must be. `correct`: None where it is not known.
    """

    place: str
    id: str
    answer: str
    start: int
    end: int
    text: str
    correct: bool | None


def read_claims(given: Path | str | pd.DataFrame) -> tuple[Claim, ...]:
    """The claims of a file or a DataFrame, one a row; columns that are not needed are left alone.

    Raises:
        InvalidInput: a file that cannot be read, a column that is missing, or a row that cannot be used.
    """
    table = read_file(Path(given)) if isinstance(given, str | Path) else table_of(given, "data frame")
    if lacking := [name for name in NEEDED if name not in table.columns]:
        raise _missing(table, lacking)
    if not {ID, ANSWER} & set(table.columns):
        raise _missing(table, [ID])
    for row in table.rejected:
        raise _fault(table, row.row, row.reason)
    return tuple(
        _claim(table, row, dict(zip(table.columns, cells, strict=True)))
        for row, *cells in table.rows.itertuples(name=None)
    )


def _missing(table: Table, lacking: list[str]) -> InvalidInput:
    return InvalidInput(
        f"{table.name} has no column {listed([repr(name) for name in lacking])}; it has {', '.join(table.columns)}. "
        f"Claims need {', '.join(NEEDED)}, and {ID!r}, the id of the answer, or {ANSWER!r}, its text."
    )


def _fault(table: Table, row: int, why: str) -> InvalidInput:
    return InvalidInput(f"{_place(table, row)}: {why}")


def _place(table: Table, row: int) -> str:
    return f"{table.name}, row {row}"


def _claim(table: Table, row: int, cells: Mapping[str, Any]) -> Claim:
    try:
        truth = verdict(cells["correct"], "correct")
        return Claim(
            place=_place(table, row),
            id=filled(cells[ID], ID).strip() if ID in cells else "",
            answer="" if ID in cells else filled(cells[ANSWER], ANSWER),
            start=_whole(cells, "start"),
            end=_whole(cells, "end"),
            text=text(cells["text"], "text"),
            correct=None if truth is None else truth == 1,
        )
    except InvalidInput as error:
        raise _fault(table, row, str(error)) from error


def _whole(cells: Mapping[str, Any], column: str) -> int:
    value = number(cells[column], column)
    if value is None or not value.is_integer():
        message = f"{column!r} is {'empty' if value is None else value}; give a whole number of code points."
        raise InvalidInput(message)
    return int(value)
