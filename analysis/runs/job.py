"""The job that works on a run, as the others see it: how far it is, when it is to stop, and how long batches took."""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.runs.answering import Done
from analysis.runs.files import TIMINGS
from analysis.runs.manifest import cannot_write
from analysis.runs.status import State, Status, write_status
from rauq.errors import RunError

if TYPE_CHECKING:
    from rauq.generation import Cancel

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

    def count(self, shard: int, done: Done) -> None:
        """A batch is done, and not saved yet."""
        self._keep_time(shard, done)
        self.tell(
            in_works=self.status.in_works + done.examples,
            answered=self.status.answered + done.examples,
            tokens=self.status.tokens + done.tokens,
            seconds=time.monotonic() - self.begun,
        )

    def save(self, *, examples: int, failed: int) -> None:
        """A shard is on disk."""
        self.tell(saved=self.status.saved + examples, failed=self.status.failed + failed, in_works=0)

    def end(self, state: State, message: str = "") -> None:
        """The job is over; where even this cannot be written, the free lock says so."""
        with suppress(RunError):
            self.tell(state=state, message=message, in_works=0)

    def _keep_time(self, shard: int, done: Done) -> None:
        line = json.dumps({"shard": shard, **done._asdict(), "at": time.time()})
        path = self.folder / TIMINGS
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise cannot_write(path, error) from error


def new_job(folder: Path, *, total: int, on_progress: OnProgress | None) -> Job:
    """A job of this process that has yet to load its model."""
    status = Status(state="loading", total=total, pid=os.getpid(), started=time.time())
    return Job(folder, status, on_progress)
