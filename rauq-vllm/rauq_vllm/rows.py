"""The values of a request by position, in files of their own: the worker appends, the scheduler takes them at the end.

vLLM runs both in processes of their own, and tells the scheduler what a worker found only after a request is gone. A
file for each request, so that no row can be another's. It is in memory where the system has a folder for that.
"""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOSPC
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from shutil import rmtree

import numpy as np

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
_PREFIX, _LOCK = "rauq-vllm-", "lock"


@dataclass(frozen=True)
class Folder:
    """A private folder for the files of one engine, which holds its lock for as long as it runs."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder and its files."""
        rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def new_folder(parent: Path | None = None) -> Folder:
    """A folder of its own, in memory unless another parent is given; those of engines that were killed are deleted."""
    place = parent or (_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir()))
    for old in place.glob(f"{_PREFIX}*"):
        _remove_if_abandoned(old)
    made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}", dir=place))
    lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR)
    flock(lock, LOCK_EX)
    return Folder(made.rename(place / made.name.removeprefix("new-")), lock)


def _remove_if_abandoned(folder: Path) -> None:
    with suppress(OSError):  # its engine runs, or it is another user's
        lock = os.open(folder / _LOCK, os.O_RDWR)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def append(path: Path, positions: np.ndarray, values: np.ndarray) -> None:
    """Write the values (n, ...) of positions (n,) to a file that exists; a request that is gone has none.

    Raises:
        OSError: there is no room; the file is as it was.
    """
    rows = np.empty(len(positions), _record(values.shape[1:]))
    rows["position"], rows["values"] = positions, values
    content = rows.tobytes()
    with suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if file.write(content) != len(content):
            file.truncate(size)  # a part of a row would shift all that follow
            raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))


def take(path: Path, *, first: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """The values (count, *shape) of positions from `first` on, nan where none was written; the file is removed.

    Of a position that was computed again after a preemption, the last is taken.
    """
    content = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    record = _record(shape)
    rows = np.frombuffer(content[: len(content) // record.itemsize * record.itemsize], record)
    inside = rows[(rows["position"] >= first) & (rows["position"] < first + count)]
    found = np.full((count, *shape), np.nan, np.float32)
    found[inside["position"] - first] = inside["values"]
    return found


def _record(shape: tuple[int, ...]) -> np.dtype:
    return np.dtype([("position", "<i8"), ("values", "<f4", shape)])
