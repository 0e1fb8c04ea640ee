"""Differences beside what is tolerated of them, row by row, out of a record that has a column `tolerance`."""

from dataclasses import dataclass
from typing import NamedTuple

from analysis.evidence.record import Record

_TOLERANCE = "tolerance"


class Series(NamedTuple):
    """One way to compare: the largest difference of each row; 0 where there is none."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Margins:
    """R rows by their names, what was compared of them, and what is tolerated (R,)."""

    names: tuple[str, ...]
    series: tuple[Series, ...]
    tolerated: tuple[float, ...]


def margins(record: Record) -> Margins | None:
    """The differences are the columns of numbers before the tolerance, counts apart; None where there is none."""
    if _TOLERANCE not in record.columns or not record.rows:
        return None
    columns = list(zip(*record.rows, strict=True))
    at = record.columns.index(_TOLERANCE)
    return Margins(
        names=tuple(map(str, columns[0])),
        series=tuple(
            Series(name, tuple(map(float, cells)))
            for name, cells in zip(record.columns[:at], columns[:at], strict=True)
            if all(isinstance(cell, float) for cell in cells)
        ),
        tolerated=tuple(map(float, columns[at])),
    )
