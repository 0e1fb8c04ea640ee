"""What strangers upload, tables and archives of runs: how a process of its own reads each, and what it answers.

A table comes back as lines of JSON, one for each row; an archive is unpacked, and all of it is checked, decoded sizes
too.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from analysis.datasets import own_files
from analysis.datasets.example import Rejected
from analysis.datasets.table import Table, Unusable, make_table, plain
from analysis.runs.archive import Bounds, unpack
from analysis.runs.manifest import cannot_write
from analysis.typed_json import parsed
from analysis.uploads.limits import Limits
from analysis.uploads.process import read_apart
from rauq.errors import InvalidInput, RunError
from rauq.labels import size

TABLE, RUN = "table", "run"

_LIMITS = Limits()
_NAME = 200  # characters of a file's name, the last ones
_NOTE = 200  # bytes, generously


@dataclass(frozen=True, kw_only=True)
class TableOrder:
    """What is read of a table: the first `rows` rows, `characters` of a cell at most, and `answer` bytes in all."""

    name: str
    rows: int
    characters: int
    answer: int


@dataclass(frozen=True, kw_only=True)
class _Head:
    """All of a table but its rows."""

    columns: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    notes: tuple[str, ...]


def read_table(content: bytes, name: str, *, rows: int, characters: int, limits: Limits = _LIMITS) -> Table:
    """The first `rows` rows of a stranger's file; a row cannot use a cell of more than `characters`.

    Raises:
        InvalidInput: as in `own_files.read_table`, or reading it takes more than the limits.
    """
    order = TableOrder(name=name[-_NAME:], rows=rows, characters=characters, answer=limits.answer)
    upload = io.BytesIO(content)
    lines = read_apart(TABLE, json.dumps(asdict(order)), upload, limits=limits, refusal=InvalidInput).split(b"\n")
    head = parsed(_Head, lines[0])
    # Line by line, so that other sessions have their turn between two rows.
    read = (json.loads(line, object_hook=_read_back) for line in lines[1:])
    return make_table(
        order.name,
        head.columns,
        {number: cells for number, *cells in read},
        rejected=head.rejected,
        notes=head.notes,
    )


def answer_table(content: bytes, order: TableOrder) -> bytes:
    """The table as lines of JSON: first all but its rows, then its rows, as many as fit.

    Raises:
        InvalidInput: as in `own_files.read_table`, or not even one row fits.
    """
    table = own_files.read_table(content, order.name, rows=order.rows)
    head = _Head(columns=table.columns, rejected=table.rejected, notes=table.notes)
    rows = tuple(_fitting(table, order.characters, order.answer - len(_line(asdict(head))) - _NOTE))
    if not rows:
        message = f"One row of {order.name} holds more than {size(order.answer)}. Leave out columns."
        raise InvalidInput(message)
    if len(rows) < len(table.rows):
        note = f"The first {len(rows):,} rows were read; more than {size(order.answer)} do not fit. Leave out columns."
        head = replace(head, notes=(*head.notes, note))
    return b"\n".join((_line(asdict(head)), *rows))


def _fitting(table: Table, characters: int, room: int) -> Iterator[bytes]:
    """The first rows as lines, as many as there is room for."""
    for number, *cells in table.rows.itertuples(name=None):
        line = _line([number, *(plain(cell, characters) for cell in cells)])
        room -= len(line) + 1
        if room < 0:
            return
        yield line


def _line(value: Any) -> bytes:  # noqa: ANN401 - anything that JSON holds
    return json.dumps(value, ensure_ascii=False, default=_written).encode(errors="replace")


_UNUSABLE = "\0unusable"  # the one key of an object that stands for such a cell


def _written(value: Any) -> dict[str, Any]:  # noqa: ANN401
    return {_UNUSABLE: value.why} if isinstance(value, Unusable) else asdict(value)


def _read_back(found: dict[str, Any]) -> Any:  # noqa: ANN401
    return Unusable(str(found[_UNUSABLE])) if found.keys() == {_UNUSABLE} else found


@dataclass(frozen=True, kw_only=True)
class RunOrder:
    """Into which folder a run is unpacked, and the most that it may hold."""

    folder: str
    bounds: Bounds


def fill_run(folder: Path, archive: IO[bytes], *, bounds: Bounds, limits: Limits = _LIMITS) -> None:
    """Unpack a stranger's archive into the folder of a run; all of it was checked then.

    Raises:
        RunError: as in `archive.unpack`, or reading it takes more than the limits.
    """
    order = RunOrder(folder=str(folder), bounds=bounds)
    limits = replace(limits, file=bounds.unpacked)
    read_apart(RUN, json.dumps(asdict(order)), archive, limits=limits, refusal=RunError)


def answer_run(archive: IO[bytes], order: RunOrder) -> None:
    """Unpack an archive, in the process that is limited.

    Raises:
        RunError: as in `archive.unpack`, or the disk is full.
    """
    folder = Path(order.folder)
    try:
        unpack(archive, folder, bounds=order.bounds)
    except OSError as error:
        raise cannot_write(folder, error) from error
