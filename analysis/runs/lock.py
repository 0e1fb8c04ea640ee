"""One job a run: the lock that a process holds while it works on a folder, and that its death sets free."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from rauq.errors import RunError

LOCK = "run.lock"

_PATIENCE = 0.5  # seconds: whoever asks whether the lock is held, holds it for an instant


@contextmanager
def only_job(folder: Path) -> Iterator[None]:
    """Hold a run, so that no other job works on it.

    Raises:
        RunError: another job does, or the folder cannot be written to.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout as error:
        message = f"Another job works on {folder}. Wait for it, or stop it first."
        raise RunError(message) from error
    except OSError as error:
        message = f"{folder} cannot be written to ({error.strerror or error}). Give a folder that can."
        raise RunError(message) from error
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether a job works on a run now."""
    if not (folder / LOCK).exists():
        return False
    try:
        with FileLock(folder / LOCK).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that cannot be written to has no job
        return False
