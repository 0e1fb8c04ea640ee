"""Time and memory of an answer with its score by prompt length, one curve a tool, out of the records that hold them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.evidence.record import Cell, Record
from rauq.errors import InvalidInput

NAMES = {"plain": "plain generation", "rauq": "this project", "lm-polygraph": "lm-polygraph"}
_LENGTH, _TOOL = "prompt, tokens", "tool"


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A tool over prompts of so many tokens: values (n,), each with the ends of its interval."""

    tool: str
    lengths: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def time_curves(record: Record) -> tuple[Curve, ...]:
    """CPU time of each tool, in times of plain generation in the same process.

    Raises:
        InvalidInput: the record lacks a column.
    """
    rows = [row for row in _rows(record, ("clock", "tool / plain", "low", "high")) if row[2] == "CPU"]
    return _curves([(length, tool, *numbers) for length, tool, _, *numbers in rows])


def memory_curves(record: Record) -> tuple[Curve, ...]:
    """Peak memory of each tool above the loaded model, in MiB.

    Raises:
        InvalidInput: the record lacks a column.
    """
    return _curves(list(_rows(record, ("MiB", "low", "high"))))


def computed_memory(record: Record) -> tuple[Curve, ...]:
    """MiB of attention weights that a tool would keep where it was not run, for that takes more than there is.

    Raises:
        InvalidInput: the record lacks a column.
    """
    rows = _rows(record, ("MiB", "weights kept, MiB"))
    return _curves([(length, tool, kept, kept, kept) for length, tool, ran, kept in rows if np.isnan(ran)])


def _rows(record: Record, columns: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    wanted = (_LENGTH, _TOOL, *columns)
    if absent := [name for name in wanted if name not in record.columns]:
        message = f"The record {record.id} has no column {', '.join(absent)}. Measure it again: {record.command}."
        raise InvalidInput(message)
    places = [record.columns.index(name) for name in wanted]
    return (tuple(row[place] for place in places) for row in record.rows)


def _curves(rows: Sequence[Sequence[Cell]]) -> tuple[Curve, ...]:
    """One for each tool, in the order of `NAMES`; what is nan was not measured."""
    return tuple(
        Curve(tool=tool, lengths=lengths, values=values, low=low, high=high)
        for tool in NAMES
        if (own := sorted((length, *numbers) for length, name, *numbers in rows if name == tool and _known(numbers)))
        for lengths, values, low, high in [zip(*own, strict=True)]
    )


def _known(numbers: Sequence[Cell]) -> bool:
    return not any(isinstance(number, float) and np.isnan(number) for number in numbers)
