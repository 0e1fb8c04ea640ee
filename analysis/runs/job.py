"""The job of a run, a process of its own: its start, its lock, how far it is, and when it is to stop."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import Field

from analysis.runs.manifest import Manifest, Request, answers_path, cannot_write, read_manifest, write_whole
from analysis.typed_json import parsed
from rauq.errors import RunError
from rauq.labels import VLLM
from rauq.layout import ANALYSIS_COMMAND, command, environment

if TYPE_CHECKING:
    from rauq.arguments import Cancel


LOCK = "run.lock"

_LOOKING = threading.Lock()
_LOCK_PATIENCE = 0.5  # seconds: checking the lock holds it for an instant


@contextmanager
def only_job(folder: Path) -> Iterator[None]:
    """Hold a run, so that no other job works on it.

    Raises:
        RunError: another job does, or the folder cannot be written to.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=_LOCK_PATIENCE)
    except Timeout as error:
        raise _second_job(folder) from error
    except OSError as error:
        message = f"{folder} cannot be written to ({error.strerror or error}). Give a writable folder."
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
        # Looking holds the lock for an instant, which another look of this process would take for a job.
        with _LOOKING, FileLock(folder / LOCK).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that cannot be written to has no job
        return False


STATUS = "status.json"
State = Literal["new", "loading", "answering", "stopped", "interrupted", "failed", "finished"]
WORKING: tuple[State, ...] = ("loading", "answering")

_Count = Annotated[int, Field(ge=0, le=10**15)]
_Seconds = Annotated[float, Field(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a run is.

    Of its `total` examples `saved` are on disk, `failed` of them without an answer, and `in_works` are done but not
    saved: stopped now, they would be answered again. `answered` and `tokens` were made in `seconds` since this job had
    its model. `started` and `updated` are seconds since 1970.
    """

    state: State
    total: _Count
    saved: _Count = 0
    failed: _Count = 0
    in_works: _Count = 0
    answered: _Count = 0
    tokens: _Count = 0
    seconds: _Seconds = 0.0
    message: str = ""
    pid: _Count = 0
    started: _Seconds = 0.0
    updated: _Seconds = 0.0

    @property
    def done(self) -> int:
        """Examples that are answered or failed, saved or not."""
        return self.saved + self.in_works

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of this job; None before its first batch."""
        return self.tokens / self.seconds if self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this speed; None where that is not known or nothing is being done."""
        if self.state not in WORKING or not self.answered:
            return None
        return (self.total - self.done) * self.seconds / self.answered


def write_status(folder: Path, status: Status) -> None:
    """Write how far a run is, whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    text = json.dumps(asdict(status), ensure_ascii=False).encode(errors="replace")
    write_whole(folder / STATUS, lambda path: path.write_bytes(text))


def read_status(folder: Path) -> Status:
    """Read how far a run is; "interrupted" if its job ended unexpectedly.

    Raises:
        RunError: the folder is no run.
    """
    manifest = read_manifest(folder)
    status = _written(folder) or _from_shards(folder, manifest)
    if status.state in WORKING and not is_held(folder):
        status = _written(folder) or status  # a job that ended since the first look has written how
        if status.state in WORKING:
            message = "The job ended unexpectedly; it may have been killed. Saved answers are intact: resume the run."
            return replace(status, state="interrupted", in_works=0, message=message)
    return status


def _written(folder: Path) -> Status | None:
    """What the job wrote last; None where there is nothing, or nothing that can be read."""
    try:
        return parsed(Status, (folder / STATUS).read_bytes())
    except (OSError, ValueError):
        return None


def _from_shards(folder: Path, manifest: Manifest) -> Status:
    """How far a run is that came without a status, such as an imported one."""
    there = [number for number in range(manifest.num_shards) if answers_path(folder, number).exists()]
    saved = sum(len(manifest.numbers(number)) for number in there)
    finished = len(there) == manifest.num_shards
    state: State = "finished" if finished else "interrupted" if there else "new"
    failed = sum(_num_failed(answers_path(folder, number)) for number in there)
    return Status(state=state, total=manifest.request.count, saved=saved, failed=failed)


def _num_failed(table: Path) -> int:
    try:
        with pq.ParquetFile(table) as file:  # three times as fast as `read_table`, once for each shard
            return sum(error != "" for error in file.read(["error"])["error"].to_pylist())
    except (OSError, pa.ArrowException, KeyError):  # broken: whoever opens the run says so
        return 0


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
    """The progress of a job, written to its folder and reported to a callback."""

    folder: Path
    status: Status
    on_progress: OnProgress | None = None
    begun: float = 0.0

    def tell(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a status
        """Change the status, write it and report it.

        Raises:
            RunError: it cannot be written.
        """
        self.status = replace(self.status, updated=time.time(), **changes)
        write_status(self.folder, self.status)
        if self.on_progress is not None:
            self.on_progress(self.status)

    def begin_answering(self) -> None:
        """Start the clock: the model is loaded."""
        self.begun = time.monotonic()
        self.tell(state="answering")

    def count(self, examples: int, tokens: int) -> None:
        """Count further examples that are done and not saved yet."""
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
    """A job of this process that has yet to load its model, in a folder without what a killed one left."""
    _remove_temporary_files(folder)
    status = Status(state="loading", total=total, pid=os.getpid(), started=time.time())
    return Job(folder, status, on_progress)


def how_to_resume(folder: Path, request: Request) -> str:
    """How to resume a run: the command, or the call that started it."""
    if request.own_quality or not all(note.module for note in request.own_methods):
        return f"To resume: call analysis.score_run with the same arguments and {str(folder)!r}"
    own = "".join(f" {note.module}" for note in request.own_methods)
    served = " --endpoint URL" if request.engine == VLLM else ""
    return f"To resume: {ANALYSIS_COMMAND} score --out {folder} --resume{served}{' --methods' if own else ''}{own}"


def _remove_temporary_files(folder: Path) -> None:
    """Remove what a killed job left half-written, and a stop request that came after its end."""
    for path in (*folder.glob(".*.tmp"), folder / STOP):
        path.unlink(missing_ok=True)


LOG = "log.txt"

_START_PATIENCE = 60.0  # seconds until a process that was started tells how far it is: Python loads its packages first
_POLL_SECONDS = 0.05


def start_job(folder: Path, *, with_parent: bool = False) -> None:
    """Let a process of its own work on a run, and return once it says how far it is. What it says goes to `log.txt`.

    Args:
        folder: That of the run.
        with_parent: Whether the process stops once this one has ended, however that came about.

    Raises:
        RunError: the folder is no run, another job works on it, or the process ended at once; with its message.
    """
    read_manifest(folder)
    if is_held(folder):
        raise _second_job(folder)
    process = _started(folder, with_parent=with_parent)
    waiting = threading.Thread(target=process.wait, daemon=True)  # no zombie remains
    waiting.start()
    deadline = time.monotonic() + _START_PATIENCE
    while process.returncode is None and read_status(folder).pid != process.pid and time.monotonic() < deadline:
        waiting.join(_POLL_SECONDS)  # do not wait for a process that ends at once
    if process.returncode:
        if is_held(folder):  # another process, started at the same moment, was faster
            raise _second_job(folder)
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
    """The last lines that the job of a run said; empty if there are none."""
    try:
        text = (folder / LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-count:])


def _second_job(folder: Path) -> RunError:
    return RunError(f"Another job is using {folder}. Wait for it, or stop it first.")


def _started(folder: Path, *, with_parent: bool) -> subprocess.Popen[bytes]:
    package = __package__.rpartition(".")[0]
    parent = ("--parent", str(os.getpid())) if with_parent else ()
    try:
        with (folder / LOG).open("ab") as log:  # so that two at the same moment do not write over each other
            log.truncate(0)
            return subprocess.Popen(
                command(package, "score", "--out", str(folder.absolute()), "--resume", *parent),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )
    except OSError as error:
        raise cannot_write(folder / LOG, error) from error
