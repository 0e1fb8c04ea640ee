"""Several processes that serve the same app, each on a port of its own, and the one that starts and stops them.

nginx, which stands before them, keeps each browser at one of them. A process that ends takes the sessions in its memory
with it, and is started again.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)
_VARIABLE = "RAUQ_WORKER"  # which of how many a process is: "2/4"
_LOOK_SECONDS = 0.2
_EARLY_SECONDS = 10.0  # in which a process that fails would fail again


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One of the processes that serve the app: its number, from 1, and how many there are."""

    number: int = 1
    of: int = 1


def this_worker() -> Worker:
    """Return which worker this process is; the only one where nothing else was said to it."""
    number, _, count = os.environ.get(_VARIABLE, "1/1").partition("/")
    return Worker(number=int(number), of=int(count))


def is_supervisor(count: int) -> bool:
    """Return whether this process is to start that many others."""
    return count > 1 and _VARIABLE not in os.environ


_PARENT = os.getppid()


def is_orphan() -> bool:
    """Return whether the process that started this worker has ended, however that came about."""
    return this_worker().of > 1 and os.getppid() != _PARENT


@dataclass(eq=False)
class _Process:
    """The process of a worker, and when it began."""

    worker: Worker
    running: "subprocess.Popen[bytes]" = field(init=False)
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Run the command of this process as the worker, in a session of its own: its parent alone stops it."""
        which = f"{self.worker.number}/{self.worker.of}"
        command = [sys.executable, *sys.orig_argv[1:]]
        self.running = subprocess.Popen(command, env=os.environ | {_VARIABLE: which}, start_new_session=True)
        self.begun = time.monotonic()

    @property
    def status(self) -> int | None:
        """With what it ended, below 0 by a signal; None while it runs."""
        return self.running.poll()

    @property
    def failed_early(self) -> bool:
        """Whether it has ended with a failure soon after its start, and not by a signal."""
        return (self.status or 0) > 0 and time.monotonic() - self.begun < _EARLY_SECONDS


def supervise(count: int) -> int:
    """Keep that many workers running until this process is asked to stop; return the status to end with.

    Each request to stop is passed on to the workers. One that ends before is started again, unless it fails as soon as
    it has started: then all stop, since it would fail again.
    """
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: asked.append(number))
    processes = [_Process(Worker(number=number, of=count)) for number in range(1, count + 1)]
    told = 0
    while not asked or any(process.status is None for process in processes):
        if told < len(asked):
            told += 1
            _stop(processes)
        elif not asked and not _all_kept(processes):
            asked.append(signal.SIGTERM)
        time.sleep(_LOOK_SECONDS)
    return max(abs(process.status or 0) for process in processes)


def _stop(processes: Sequence[_Process]) -> None:
    for process in processes:
        process.running.terminate()


def _all_kept(processes: Sequence[_Process]) -> bool:
    """Start again what has ended; return False if that is of no use."""
    for process in processes:
        if process.failed_early:
            return False
        if (status := process.status) is not None:
            which = process.worker
            _log.warning("Worker %d of %d ended (%d); it is started again", which.number, which.of, status)
            process.start()
    return True
