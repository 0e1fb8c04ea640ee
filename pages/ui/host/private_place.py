"""The folder of a server's private files, such as the runs of its sessions, which is deleted with the server.

The server holds a lock in it, which the kernel frees however the server ends: the next one deletes what a killed one
left behind.
"""

import atexit
import shutil
import stat
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

from filelock import FileLock

_PREFIX, _LOCK = "rauq-", "server.lock"
_MAKING = threading.Lock()


def folder() -> Path:
    """Return the folder for private files of sessions, the same for the whole process."""
    with _MAKING:  # two sessions that ask first at the same moment
        return _made()


@cache  # not Streamlit's, which any client can clear
def _made() -> Path:
    place = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(_delete_own, place, _held_lock(place))
    for other in place.parent.glob(f"{_PREFIX}*"):
        if other != place and _is_folder_of(other, place.stat().st_uid):
            _delete_if_abandoned(other)
    return place


def _held_lock(place: Path) -> FileLock:
    """Return the lock of a place, held before the file has its name: under it, a free lock is that of a dead server."""
    lock = FileLock(place / f"new-{_LOCK}", thread_local=False)
    lock.acquire()
    (place / f"new-{_LOCK}").rename(place / _LOCK)
    return lock


def _delete_own(place: Path, lock: FileLock) -> None:
    _delete(place)
    lock.release()


def _is_folder_of(path: Path, user: int) -> bool:
    """Return whether a path is a folder of this user, not a link to one."""
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == user
    return False


def _delete_if_abandoned(place: Path) -> None:
    """Delete the folder of a server that has ended; folders without a lock file are not a server's."""
    if not (place / _LOCK).is_file():
        return
    with suppress(OSError), FileLock(place / _LOCK).acquire(blocking=False):  # filelock's Timeout is an OSError
        _delete(place)


def _delete(place: Path) -> None:
    """Delete a place, its lock last: a job about to end may still write, and then the next server tries again."""
    with suppress(OSError):  # it was deleted by hand
        for inside in place.iterdir():
            if inside.name != _LOCK:
                shutil.rmtree(inside, ignore_errors=True)
        if [inside.name for inside in place.iterdir()] == [_LOCK]:
            shutil.rmtree(place, ignore_errors=True)
