"""The numbers of records that are drawn: differences with their tolerance, and costs by length of the prompt."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.evidence.record import Cell, Record

_TOLERANCE = "tolerance"
DIFFERENCES = frozenset({_TOLERANCE})
"""The column of a record that has `margins`."""


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


def margins(record: Record) -> Margins:
    """The differences are the columns of fractions before the tolerance; whole numbers are counts."""
    before = record.columns[: record.columns.index(_TOLERANCE)]
    return Margins(
        names=tuple(map(str, record.column(record.columns[0]))),
        series=tuple(
            Series(name, tuple(map(float, record.column(name))))
            for name in before
            if all(isinstance(cell, float) for cell in record.column(name))
        ),
        tolerated=tuple(map(float, record.column(_TOLERANCE))),
    )


NAMES = {"plain": "plain generation", "rauq": "this project", "lm-polygraph": "lm-polygraph"}
_TOOL_AND_LENGTH = ("tool", "prompt, tokens")
_CLOCK, _RATIO, _PEAK, _KEPT = "clock", "tool / plain", "MiB", "weights kept, MiB"
_INTERVAL = ("low", "high")
TIMES = frozenset({*_TOOL_AND_LENGTH, _CLOCK, _RATIO, *_INTERVAL})
"""The columns of a record that has `time_costs`."""
MEMORY = frozenset({*_TOOL_AND_LENGTH, _PEAK, _KEPT, *_INTERVAL})
"""The columns of a record that has `memory_costs`."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A tool over prompts of so many tokens: values (n,), each with the ends of its interval."""

    tool: str
    lengths: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What tools cost by length of the prompt: measured, computed and not run, and the cost of plain generation."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    computed: tuple[Curve, ...] = ()
    plain: float | None = None
    logarithmic: bool = False


def time_costs(record: Record) -> Costs:
    """CPU time of each tool, relative to plain generation in the same process."""
    rows = [row for row in _rows(record, _RATIO, *_INTERVAL, _CLOCK) if row[-1] == "CPU"]
    return Costs(
        title="CPU time relative to plain generation",
        unit="times plain generation",
        curves=_curves(row[:-1] for row in rows),
        plain=1.0,
    )


def memory_costs(record: Record) -> Costs:
    """Peak memory of each tool above the loaded model, in MiB.

    Computed are the attention weights that a tool would keep where it was not run because they exceed the memory.
    """
    weights = [(*row[:2], *row[2:3] * 3) for row in _rows(record, _KEPT, _PEAK) if not _known(row[-1:])]
    return Costs(
        title="peak memory above the model, MiB",
        unit="MiB",
        curves=_curves(_rows(record, _PEAK, *_INTERVAL)),
        computed=_curves(weights),
        logarithmic=True,
    )


def _rows(record: Record, *columns: str) -> Iterator[tuple[Cell, ...]]:
    return zip(*map(record.column, (*_TOOL_AND_LENGTH, *columns)), strict=True)


def _curves(rows: Iterable[Sequence[Cell]]) -> tuple[Curve, ...]:
    """From rows of tool, length, value and interval, one curve for each tool, in the order of `NAMES`, without nan."""
    known = [row for row in rows if _known(row)]
    return tuple(
        Curve(tool=tool, lengths=lengths, values=values, low=low, high=high)
        for tool in NAMES
        if (own := sorted(numbers for name, *numbers in known if name == tool))
        for lengths, values, low, high in [zip(*own, strict=True)]
    )


def _known(cells: Sequence[Cell]) -> bool:
    return not any(isinstance(cell, float) and math.isnan(cell) for cell in cells)
