"""An archive of a run from a stranger: a process of its own unpacks it and checks all of it, decoded sizes too."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from analysis.runs.archive import Bounds, unpack
from analysis.runs.manifest import cannot_write
from analysis.uploads.limits import Limits
from analysis.uploads.process import read_apart
from rauq.errors import RunError

TASK = "run"

_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True)
class Order:
    """Into which folder a run is unpacked, and the most that it may hold."""

    folder: str
    bounds: Bounds


def fill(folder: Path, archive: IO[bytes], *, bounds: Bounds, limits: Limits = _LIMITS) -> None:
    """Unpack a stranger's archive into the folder of a run; all of it was checked then.

    Raises:
        RunError: as in `archive.unpack`, or reading it takes more than the limits.
    """
    order = Order(folder=str(folder), bounds=bounds)
    limits = replace(limits, file=bounds.unpacked)
    read_apart(TASK, json.dumps(asdict(order)), archive, limits=limits, refusal=RunError)


def answer(archive: IO[bytes], order: Order) -> None:
    """Unpack an archive, in the process that is limited.

    Raises:
        RunError: as in `archive.unpack`, or the disk is full.
    """
    folder = Path(order.folder)
    try:
        unpack(archive, folder, bounds=order.bounds)
    except OSError as error:
        raise cannot_write(folder, error) from error
