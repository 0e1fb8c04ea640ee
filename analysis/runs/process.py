"""The job of a run as a process of its own: it outlives the process that started it, and they share only the folder."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from analysis.runs.job import STOP, is_held, read_status
from analysis.runs.manifest import cannot_write, read_manifest
from rauq.errors import RunError

LOG = "log.txt"

_ROOT = Path(__file__).parents[2]
_PATIENCE = 60.0  # seconds until a started process reports its progress: Python loads its packages first
_POLL_SECONDS = 0.05


def start_job(folder: Path) -> None:
    """Start a process that works on a run, and return once it reports progress. Its output goes to `log.txt`.

    Raises:
        RunError: the folder is no run, another job works on it, or the process ended at once; with its message.
    """
    read_manifest(folder)
    _refuse_second(folder)
    process = _started(folder)
    waiting = threading.Thread(target=process.wait, daemon=True)  # no zombie remains
    waiting.start()
    deadline = time.monotonic() + _PATIENCE
    while process.returncode is None and read_status(folder).pid != process.pid and time.monotonic() < deadline:
        waiting.join(_POLL_SECONDS)  # a process that ends at once is not waited for
    if process.returncode:
        _refuse_second(folder)  # another one was started at the same moment, and got the lock
        message = f"The job ended at once: {last_lines(folder, 1) or 'no message'}"
        raise RunError(message)


def request_stop(folder: Path) -> None:
    """Ask the job of a run to end after its current token; what is saved stays.

    Raises:
        RunError: no job works on it, or the folder cannot be written to.
    """
    if not is_held(folder):
        message = f"No job is running on {folder}, so there is nothing to stop."
        raise RunError(message)
    try:
        (folder / STOP).touch()
    except OSError as error:
        raise cannot_write(folder / STOP, error) from error


def is_stopping(folder: Path) -> bool:
    """Whether the job of a run was asked to end."""
    return (folder / STOP).exists()


def last_lines(folder: Path, count: int) -> str:
    """The last lines of the log of a run; empty if there are none."""
    try:
        text = (folder / LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-count:])


def _refuse_second(folder: Path) -> None:
    if is_held(folder):
        message = f"Another job is using {folder}. Wait for it, or stop it first."
        raise RunError(message)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "analysis", "score", "--out", str(folder.absolute()), "--resume"]
    paths = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    try:
        with (folder / LOG).open("ab") as log:  # so that two at the same moment do not write over each other
            log.truncate(0)
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,
            )
    except OSError as error:
        raise cannot_write(folder / LOG, error) from error
