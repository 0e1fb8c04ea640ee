"""What a command measured: a table with its date, machine, versions and bounds, kept beside the app as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from analysis.typed_json import parsed
from rauq.errors import InvalidInput

Cell = str | int | float
Verdict = Literal["missed", "inconclusive", "met"]

FOLDER = Path(__file__).parent / "records"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A bound on a measurement, in words, and whether it was met.

    `met` is None where the measured value is beyond the bound, but its 95 % interval includes the bound.
    """

    text: str
    met: bool | None

    @property
    def verdict(self) -> Verdict:
        """`met` in a word."""
        if self.met is None:
            return "inconclusive"
        return "met" if self.met else "missed"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One table of figures and the command that makes it.

    `rows` holds one cell a column: a text or a number whose unit is in the column's name. An interval is two columns
    of their own, `low` and `high`, or, in a table of many intervals, part of a text. A number that could not be had is
    nan, and `notes` says why. `finding` is what the table shows, in one sentence that carries the figure.
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

    def column(self, name: str) -> tuple[Cell, ...]:
        """The cells of a column, by row."""
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict on its bounds."""
        verdicts = {bound.verdict for bound in self.bounds}
        return next((verdict for verdict in get_args(Verdict) if verdict in verdicts), "met")

    @property
    def met(self) -> bool:
        """Whether no bound was missed."""
        return self.verdict != "missed"


def records() -> dict[str, Record]:
    """Every record that is kept, by id.

    Raises:
        InvalidInput: one cannot be read.
    """
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.json"))}


def find_record(name: str) -> Record | None:
    """The kept record of this id; None where nothing was measured.

    Raises:
        InvalidInput: it cannot be read.
    """
    path = FOLDER / f"{name}.json"
    return _read(path) if path.exists() else None


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
        return parsed(Record, path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"The record {path.name} cannot be read ({error}). Run the command that made it again."
        raise InvalidInput(message) from error


def command_of(subject: str) -> str:
    """The command that measures a subject by its id, and keeps its record."""
    return f"python -m benchmarks {subject} --record"


@dataclass(frozen=True)
class Subject:
    """A record by its id, measured or not yet: its name on the page, and the command that measures it."""

    id: str
    name: str

    @property
    def command(self) -> str:
        """The command that measures it."""
        return command_of(self.id)


RESULTS = (
    Subject("real_models", "Real models"),
    Subject("survival", "What survives"),
    Subject("marked", "Errors that people marked"),
    Subject("worth", "What attention is worth"),
    Subject("written", "Written answers"),
    Subject("lists", "Items of lists"),
    Subject("weak_points", "Weak points"),
    Subject("likeness", "Unlike answers"),
    Subject("documents", "Documents"),
    Subject("faithbench", "Summaries by people's marks"),
    Subject("online", "While it is written"),
    Subject("alarms", "Alarms"),
    Subject("engines", "Engines"),
    Subject("vllm", "vLLM"),
    Subject("vllm_models", "vLLM: other models"),
    Subject("vllm_load", "vLLM: many clients"),
    Subject("coverage", "Coverage"),
)
MODELS = (Subject("models", "Models"),)
REFERENCE = (Subject("reference", "Reference"),)
SPEED = (
    Subject("real_speed", "A real model"),
    Subject("engine_speed", "Engines: speed"),
    Subject("engine_shapes", "Engines: large models"),
    Subject("serve", "Serving"),
    Subject("vllm_cost", "vLLM: what it costs"),
    Subject("capture", "Overhead"),
    Subject("overhead", "Overhead by method"),
    Subject("monitor", "Watching"),
    Subject("memory", "Memory"),
    Subject("growth", "Growth with the prompt"),
    Subject("peers_time", "Other tools: time"),
    Subject("peers_memory", "Other tools: memory"),
    Subject("peers_agreement", "Other tools: agreement"),
    Subject("payload", "Page size"),
    Subject("scoring", "Scoring"),
    Subject("ablations", "Ablations"),
    Subject("sampling", "Sampling"),
    Subject("shared_prefix", "Shared prompts"),
    Subject("throughput", "Throughput"),
    Subject("runs", "Runs on disk"),
    Subject("million", "A million answers"),
    Subject("fitting", "Supervised methods"),
    Subject("page", "Response times"),
    Subject("tab_memory", "Browser memory"),
    Subject("gpu", "GPU"),
    Subject("gpu_exact", "GPU: capture"),
)
ROBUSTNESS = (
    Subject("fuzz", "Fuzzing"),
    Subject("properties", "Properties"),
    Subject("load", "Load"),
    Subject("bombs", "Large uploads"),
    Subject("hostile", "Attack"),
    Subject("flood", "Flood"),
    Subject("serve_load", "Serving beside hostile clients"),
    Subject("visitors", "Visitors"),
    Subject("visitors_hour", "Visitors: an hour"),
    Subject("misuse", "Misuse"),
    Subject("workers", "Several processes"),
    Subject("ray", "Ray"),
    Subject("faults", "Faults"),
    Subject("safety", "Hostile text"),
    Subject("suite", "Tests"),
    Subject("mutants", "Broken lines"),
    Subject("dependencies", "Dependencies"),
)
SUBJECTS = (*RESULTS, *MODELS, *REFERENCE, *SPEED, *ROBUSTNESS)


def of_subjects(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Record, ...]:
    """The records of these subjects that are kept, in this order."""
    return tuple(kept[subject.id] for subject in subjects if subject.id in kept)


def missing(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Subject, ...]:
    """The subjects of which nothing was measured."""
    return tuple(subject for subject in subjects if subject.id not in kept)
