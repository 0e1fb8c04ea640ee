"""The numbers of records that are drawn: differences with their tolerance, and costs by length of the prompt."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.evidence.record import Cell, Record
from analysis.stats import Estimate

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


_OF, _COUNT, _RUN = "answers of", "answers", ("model", "prompts")
_MINUS = "minus "
DIFFERENCES_OF_RUNS = frozenset({_OF, _COUNT, *_RUN})
"""The columns of a record that has `differences_of_runs`."""
_NUMBER = re.compile(r"[+\-\N{MINUS SIGN}]?\d+\.\d+")


def differences_of_runs(record: Record) -> dict[str, tuple[tuple[str, Estimate], ...]]:
    """RAUQ minus each other ranking, by its name: a row for each run and each figure over all of its answers.

    The families of a run, which have fewer answers, are left to the table.
    """
    counts = list(map(int, record.column(_COUNT)))
    places = [place for place, count in enumerate(counts) if count == max(counts)]
    names = [", ".join(str(record.column(name)[place]) for name in _RUN) for place in places]
    rows = [f"{name}: {record.column(_OF)[place]}" for name, place in zip(names, places, strict=True)]
    return {
        column.removeprefix(_MINUS): tuple(
            (row, _difference(str(record.column(column)[place]), n=counts[place]))
            for row, place in zip(rows, places, strict=True)
        )
        for column in record.columns
        if column.startswith(_MINUS)
    }


def _difference(cell: str, *, n: int) -> Estimate:
    """A value and the ends of its interval, read from a cell; undefined where it has no numbers."""
    numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in _NUMBER.findall(cell)]
    value, low, high = numbers or [math.nan] * 3
    return Estimate(value, low, high, n=n, excluded=0, reason="" if numbers else "undefined")
