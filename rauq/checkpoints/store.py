"""A bounded cache folder of this user for dequantised models, which take long to compute.

Every entry is a folder under a key. It is written beside its place and renamed, so it is there whole or not at all. A
lock per key lets processes and threads that want the same entry compute it once, and keeps it while one of them reads.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from rauq.arguments import Cancel
from rauq.checkpoints.kinds import BFLOAT16
from rauq.errors import CacheError, InvalidInput, Stopped
from rauq.labels import size

PLACE_VARIABLE, BOUND_VARIABLE = "RAUQ_CACHE", "RAUQ_CACHE_GB"
DEFAULT_GB = 30.0

_GB = 10**9
_POLL_SECONDS = 0.05  # seconds between two looks at whether another process is done, or the user has cancelled
_CHUNK = 2**22  # bytes
_UNFINISHED = ".unfinished"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A folder of the store, its bytes on disk, and when it was last used, in seconds since 1970."""

    folder: Path
    num_bytes: int
    used: float


@dataclass(frozen=True, kw_only=True)
class Store:
    """A store at `place` that holds at most `bound` bytes, unless a single entry is larger."""

    place: Path
    bound: int

    @property
    def folder(self) -> Path:
        """Where the entries are."""
        return self.place / "gguf"

    def entries(self) -> list[Entry]:
        """All entries, the least recently used first; those that a killed process left unfinished come before all.

        Raises:
            CacheError: the folder cannot be read.
        """
        found = []
        with _plain_errors(self, 0), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for folder in self.folder.iterdir():
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # another process removed it
                    num_bytes = sum(path.stat().st_size for path in folder.iterdir())
                    used = 0.0 if folder.suffix == _UNFINISHED else folder.stat().st_mtime
                    found.append(Entry(folder=folder, num_bytes=num_bytes, used=used))
        return sorted(found, key=lambda entry: entry.used)


def default_store() -> Store:
    """The store of this user: where RAUQ_CACHE says, with the bound of RAUQ_CACHE_GB, which is 30 by default.

    Raises:
        InvalidInput: the bound is not a number of gigabytes.
    """
    given = os.environ.get(BOUND_VARIABLE) or str(DEFAULT_GB)
    try:
        bound = float(given)
    except ValueError:
        bound = math.nan
    if not 0 <= bound < math.inf:
        message = f"{BOUND_VARIABLE} is {given!r}; give a number of gigabytes from 0 on, such as {DEFAULT_GB:.0f}."
        raise InvalidInput(message)
    place = os.environ.get(PLACE_VARIABLE)
    return Store(place=Path(place).expanduser() if place else user_cache_path() / "rauq", bound=int(bound * _GB))


@contextmanager
def stored(
    store: Store, key: str, *, num_bytes: int, write: Callable[[Path], None], cancel: Cancel | None = None
) -> Iterator[Path]:
    """The folder under `key`, written by `write` where it is missing; nobody removes it while the body runs.

    Args:
        store: Where to keep it.
        key: Letters, digits and hyphens.
        num_bytes: What the folder will take on disk.
        write: Fills a folder that is empty.
        cancel: Checked while another process has the entry.

    Raises:
        CacheError: there is no room, or the store cannot be written.
        Stopped: cancelled.
    """
    folder = store.folder / key
    with contextlib.ExitStack() as held:
        with _plain_errors(store, num_bytes):
            held.enter_context(locked(store, key, cancel))
            if not folder.is_dir():
                _write(store, folder, num_bytes, write)
            os.utime(folder)
        yield folder


def clear(store: Store) -> tuple[int, int]:
    """Remove all entries that are not in use; return how many these were, and their bytes.

    Raises:
        CacheError: one cannot be removed.
    """
    removed = [entry for entry in store.entries() if _removed(store, entry)]
    shutil.rmtree(store.place / "digests", ignore_errors=True)
    return len(removed), sum(entry.num_bytes for entry in removed)


def sha256(store: Store, file: Path, *, cancel: Cancel | None = None) -> str:
    """Hexadecimal digest of a file, remembered for as long as its size and its time of modification stay the same.

    Raises:
        OSError: the file cannot be read.
        Stopped: cancelled.
    """
    state = file.stat()
    path = os.path.abspath(file)  # noqa: PTH100 - a link has a state of its own
    memo = store.place / "digests" / f"{hashlib.sha256(path.encode(errors='surrogatepass')).hexdigest()[:32]}.json"
    known = {"path": ascii(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        remembered = json.loads(memo.read_text(encoding="utf-8"))
        digest: str = remembered.pop("sha256")
        if remembered == known:
            return digest
    digest = digest_of(file, cancel)
    with contextlib.suppress(OSError):  # without the memo it is computed again
        _write_text(memo, json.dumps(known | {"sha256": digest}))
    return digest


def raise_if_cancelled(cancel: Cancel | None) -> None:
    """Go on unless cancelled.

    Raises:
        Stopped: cancelled.
    """
    if cancel is not None and cancel.is_set():
        message = "Stopped before the model was loaded."
        raise Stopped(message)


def _write(store: Store, folder: Path, num_bytes: int, write: Callable[[Path], None]) -> None:
    _make_room(store, num_bytes)
    unfinished = folder.with_suffix(_UNFINISHED)  # of a process that was killed, since this one has the lock
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        write(unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _make_room(store: Store, num_bytes: int) -> None:
    """Remove the least recently used entries until the bound holds, and the disk has room.

    Raises:
        CacheError: there is too little room on the disk even then.
    """
    entries = store.entries()
    total = sum(entry.num_bytes for entry in entries)
    for entry in entries:
        if total + num_bytes <= store.bound and num_bytes <= _free(store):
            break
        if _removed(store, entry):
            total -= entry.num_bytes
    if num_bytes > _free(store):
        raise _no_room(store, num_bytes)


def _removed(store: Store, entry: Entry) -> bool:
    """Remove an entry unless it is in use; return whether it is gone."""
    try:
        with FileLock(_lock(store, entry.folder.stem), timeout=0):
            shutil.rmtree(entry.folder)
    except Timeout:
        return False
    except FileNotFoundError:
        return True
    except OSError as error:
        raise _unusable(store, error) from error
    return True


@contextmanager
def locked(store: Store, key: str, cancel: Cancel | None) -> Iterator[None]:
    """Hold the lock of a key; processes and threads that want the same wait for each other.

    Raises:
        Stopped: cancelled while waiting.
    """
    store.folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(_lock(store, key))
    while True:
        raise_if_cancelled(cancel)
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=_POLL_SECONDS)
            break
    try:
        yield
    finally:
        lock.release()


def _lock(store: Store, key: str) -> Path:
    place = store.place / "locks"
    place.mkdir(parents=True, exist_ok=True)
    return place / key


@contextmanager
def _plain_errors(store: Store, num_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise _no_room(store, num_bytes) from error
        raise _unusable(store, error) from error


def _no_room(store: Store, num_bytes: int) -> CacheError:
    return CacheError(
        f"The dequantised weights take {size(num_bytes)} on disk, and {size(_free(store))} are free in {store.place}. "
        f"Free disk space, choose another folder with the variable {PLACE_VARIABLE}, or choose a smaller precision, "
        f"such as {BFLOAT16}."
    )


def _unusable(store: Store, error: OSError) -> CacheError:
    why = error.strerror or type(error).__name__
    return CacheError(
        f"The folder {store.place}, where dequantised weights are kept, cannot be used ({why}). Choose another folder "
        f"with the variable {PLACE_VARIABLE}."
    )


def _free(store: Store) -> int:
    return shutil.disk_usage(store.place).free


def digest_of(file: Path, cancel: Cancel | None) -> str:
    """Hexadecimal sha256 of a file.

    Raises:
        Stopped: cancelled.
    """
    digest = hashlib.sha256()
    with file.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            raise_if_cancelled(cancel)
            digest.update(chunk)
    return digest.hexdigest()


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
