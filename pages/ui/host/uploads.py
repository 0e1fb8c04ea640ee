"""Files that are uploaded to be read: by the app itself, or on a host by a process of its own, one for each visitor."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pages.ui.host import hosting
from pages.ui.host.visitors import visitor
from rauq.errors import InvalidInput

if TYPE_CHECKING:
    from analysis.datasets.table import Table

_AT_ONCE = 2  # a process takes up to 1.5 GiB and a core
_PATIENCE = 60.0  # seconds


@dataclass(eq=False)
class Desk:
    """Where uploads are read: `places` for two at once, of different `visitors`, who read or wait."""

    places: threading.BoundedSemaphore = field(default_factory=partial(threading.BoundedSemaphore, _AT_ONCE))
    lock: threading.Lock = field(default_factory=threading.Lock)
    visitors: set[str] = field(default_factory=set)
    patience: float = _PATIENCE

    @contextmanager
    def place(self, visitor: str) -> Iterator[None]:
        """Hold a place in the body.

        Raises:
            InvalidInput: another upload of this visitor is being read or waits, or no place has become free.
        """
        with self._alone(visitor):
            if not self.places.acquire(timeout=self.patience):
                message = f"This host reads {_AT_ONCE} uploads at once, and none is done yet. Try again in a minute."
                raise InvalidInput(message)
            try:
                yield
            finally:
                self.places.release()

    @contextmanager
    def _alone(self, visitor: str) -> Iterator[None]:
        with self.lock:
            if visitor in self.visitors:
                message = "Another upload of yours is being read. Try again when it is done."
                raise InvalidInput(message)
            self.visitors.add(visitor)
        try:
            yield
        finally:
            with self.lock:
                self.visitors.remove(visitor)


@cache  # Streamlit's own cache is emptied by a message of any client
def desk() -> Desk:
    """Return the desk of this process."""
    return Desk()


def read_table(content: bytes, name: str) -> "Table":
    """Read the table of an uploaded data set.

    Raises:
        InvalidInput: it is not a table, it is too large, or too many uploads are being read.
    """
    from analysis.datasets import own_files

    if not hosting.is_hosted():
        return own_files.read_table(content, name)
    from analysis.uploads import tables  # which only a system with such limits can import

    most = hosting.limits()
    with desk().place(visitor()):
        return tables.read_table(content, name, rows=most.rows, characters=most.characters)


def import_run(archive: IO[bytes], root: Path, name: str) -> Path:
    """Import the archive of a run and return its folder.

    Raises:
        RauqError: it is not an archive of a run, the host does not allow it, or too many uploads are being read.
    """
    from analysis.runs.archive import import_zip, place_run

    if not hosting.is_hosted():
        return import_zip(archive, root, name)
    with desk().place(visitor()):
        return place_run(root, name, partial(_fill, archive))


def _fill(archive: IO[bytes], folder: Path) -> None:
    from analysis.quality.measures import MEASURES
    from analysis.runs.archive import Bounds
    from analysis.runs.manifest import read_manifest
    from analysis.uploads import runs

    most = hosting.limits()
    runs.fill(folder, archive, bounds=Bounds(unpacked=most.archive, rows=most.rows, characters=most.characters))
    judged = MEASURES.get(read_manifest(folder).request.quality)
    if judged is not None and "weights" in judged.needs:
        message = f"The quality of this run is {judged.name}, which needs weights that this host does not have."
        raise InvalidInput(message)
