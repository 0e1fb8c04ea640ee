"""What a command measured: a table with its date, machine, versions and bounds, kept beside the app as JSON."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rauq.errors import InvalidInput

Cell = str | int | float

FOLDER = Path(__file__).parent / "records"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A bound on a measurement, in words, and whether it was met."""

    text: str
    met: bool


@dataclass(frozen=True, kw_only=True)
class Record:
    """One table of figures and the command that makes it.

    `rows` holds one cell a column: a text or a number whose unit is in the column's name. An interval is two columns
    of their own, `low` and `high`. A number that could not be had is nan, and `notes` says why. `finding` is what the
    table shows, in one sentence that carries the figure.
    """

    id: str
    title: str
    about: str
    command: str
    made: date
    machine: str
    versions: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bounds: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()
    finding: str = ""

    def __post_init__(self) -> None:
        """Every row has a cell for every column.

        Raises:
            InvalidInput: a row has more or fewer.
        """
        for row in self.rows:
            if len(row) != len(self.columns):
                message = (
                    f"The record {self.id} has {len(self.columns)} columns, but a row has {len(row)} cells: {row}."
                )
                raise InvalidInput(message)

    @property
    def met(self) -> bool:
        """Whether every bound was met."""
        return all(bound.met for bound in self.bounds)


def records() -> dict[str, Record]:
    """Every record that is kept, by id.

    Raises:
        InvalidInput: one cannot be read.
    """
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.json"))}


def save(record: Record, folder: Path = FOLDER) -> Path:
    """Keep a record under its id, in the place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.id}.json"
    text = json.dumps(asdict(record), indent=1, ensure_ascii=False, default=date.isoformat)
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def shown(cell: Cell) -> str:
    """A cell as a reader sees it: numbers with three significant digits, but no digit of a whole number lost."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if math.isnan(cell):
        return "-"
    return f"{cell:.3g}" if abs(cell) < 1_000 else f"{cell:,.0f}"


def _read(path: Path) -> Record:
    try:
        return _record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = f"The record {path.name} cannot be read ({error}). Run the command that made it again."
        raise InvalidInput(message) from error


def _record(found: dict[str, Any]) -> Record:
    return Record(
        **{
            **found,
            "made": date.fromisoformat(found["made"]),
            "versions": tuple(map(tuple, found["versions"])),
            "columns": tuple(found["columns"]),
            "rows": tuple(map(tuple, found["rows"])),
            "bounds": tuple(Bound(**bound) for bound in found["bounds"]),
            "notes": tuple(found["notes"]),
        }
    )


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A record by its id, kept or not yet: what it is about, in a few words."""

    id: str
    name: str
    command: str


MODELS = Subject(id="models", name="Models", command="python -m tests.exactness --record")
REFERENCE = Subject(id="reference", name="Reference", command="python -m tests.agreement --record")
SPEED = (
    Subject(id="capture", name="Overhead", command="python -m benchmarks.capture --record"),
    Subject(id="overhead", name="Overhead by method", command="python -m benchmarks.overhead --record"),
    Subject(id="memory", name="Memory", command="python -m benchmarks.memory --record"),
    Subject(id="growth", name="Growth with the prompt", command="python -m benchmarks.growth --record"),
    Subject(id="peers_time", name="Other tools: time", command="make bench-peers"),
    Subject(id="peers_memory", name="Other tools: memory", command="make bench-peers"),
    Subject(id="peers_agreement", name="Other tools: agreement", command="make bench-peers"),
    Subject(id="payload", name="Page size", command="make bench-peers"),
    Subject(id="scoring", name="Scoring", command="python -m benchmarks.scoring --record"),
    Subject(id="ablations", name="Ablations", command="python -m benchmarks.ablations --record"),
    Subject(id="sampling", name="Sampling", command="python -m benchmarks.sampling --record"),
    Subject(id="shared_prefix", name="Shared prompts", command="python -m benchmarks.shared_prefix --record"),
    Subject(id="throughput", name="Throughput", command="python -m benchmarks.throughput --record"),
    Subject(id="runs", name="Runs on disk", command="python -m benchmarks.runs --record"),
    Subject(id="page", name="Response times", command="python -m benchmarks.page --record"),
    Subject(id="tab_memory", name="Browser memory", command="python -m benchmarks.tab_memory --record"),
    Subject(id="gpu", name="GPU", command="python -m benchmarks.gpu --record"),
)
ROBUSTNESS = (
    Subject(id="fuzz", name="Fuzzing", command="python -m tests.robustness --only fuzz --record"),
    Subject(id="properties", name="Properties", command="python -m tests.robustness --only properties --record"),
    Subject(id="load", name="Load", command="python -m tests.robustness --only load --record"),
    Subject(id="faults", name="Faults", command="python -m tests.robustness --only faults --record"),
    Subject(id="safety", name="Hostile text", command="python -m tests.robustness --only safety --record"),
    Subject(id="dependencies", name="Dependencies", command="python -m benchmarks.dependencies --record"),
)
SUBJECTS = (MODELS, REFERENCE, *SPEED, *ROBUSTNESS)


def of_subjects(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Record, ...]:
    """The records of these subjects that are kept, in this order."""
    return tuple(kept[subject.id] for subject in subjects if subject.id in kept)


def missing(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Subject, ...]:
    """The subjects of which nothing was measured."""
    return tuple(subject for subject in subjects if subject.id not in kept)


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
