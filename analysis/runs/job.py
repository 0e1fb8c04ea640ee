"""The job that works on a run, as the others see it: how far it is, and when it is to stop."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.runs.status import State, Status, write_status
from rauq.errors import RunError

if TYPE_CHECKING:
    from rauq.cancellation import Cancel

STOP = "stop"
OnProgress = Callable[[Status], None]


@dataclass(eq=False)
class Stop:
    """Whether to stop: once a file named `stop` is in the folder, or `cancel` is set. It stays so."""

    folder: Path
    cancel: "Cancel | None" = None
    stopped: bool = False

    def is_set(self) -> bool:
        """Whether to stop after the current token."""
        if not self.stopped:
            self.stopped = (self.cancel is not None and self.cancel.is_set()) or (self.folder / STOP).exists()
        return self.stopped


@dataclass(eq=False)
class Job:
    """How far a job is, told to its folder and to whoever asked for it."""

    folder: Path
    status: Status
    on_progress: OnProgress | None = None
    begun: float = 0.0

    def tell(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a status
        """Change the status, and let everybody know.

        Raises:
            RunError: it cannot be written.
        """
        self.status = replace(self.status, updated=time.time(), **changes)
        write_status(self.folder, self.status)
        if self.on_progress is not None:
            self.on_progress(self.status)

    def begin_answering(self) -> None:
        """The model is there: from now on seconds count."""
        self.begun = time.monotonic()
        self.tell(state="answering")

    def count(self, examples: int, tokens: int) -> None:
        """So many examples more are done, and not saved yet."""
        self.tell(
            in_works=self.status.in_works + examples,
            answered=self.status.answered + examples,
            tokens=self.status.tokens + tokens,
            seconds=time.monotonic() - self.begun,
        )

    def save(self, *, examples: int, failed: int) -> None:
        """A shard is on disk."""
        self.tell(saved=self.status.saved + examples, failed=self.status.failed + failed, in_works=0)

    def end(self, state: State, message: str = "") -> None:
        """The job is over; where even this cannot be written, the free lock says so."""
        with suppress(RunError):
            self.tell(state=state, message=message, in_works=0)


def new_job(folder: Path, *, total: int, on_progress: OnProgress | None) -> Job:
    """A job of this process that has yet to load its model."""
    status = Status(state="loading", total=total, pid=os.getpid(), started=time.time())
    return Job(folder, status, on_progress)
