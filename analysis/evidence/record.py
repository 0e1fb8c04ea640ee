"""What a command measured: a table with its date, machine, versions and bounds, kept beside the app as JSON."""

import json
import math
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rauq.errors import InvalidInput

Cell = str | int | float

FOLDER = Path(__file__).parent / "records"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a figure was to keep, in words, and whether it did."""

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
                message = f"The record {self.id} has {len(self.columns)} columns, but a row of {len(row)} cells: {row}."
                raise InvalidInput(message)

    @property
    def met(self) -> bool:
        """Whether every bound was kept."""
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
        message = f"The record {path.name} cannot be read ({error}). The command that made it writes it anew."
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
