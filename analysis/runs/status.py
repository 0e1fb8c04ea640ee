"""How far a run is: written by its job after every batch, read by whoever watches."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.runs.lock import is_held
from analysis.runs.manifest import Manifest, read_manifest, write_whole
from analysis.runs.shard import answers_path
from analysis.runs.typed import typed

STATUS = "status.json"
State = Literal["new", "loading", "answering", "stopped", "interrupted", "failed", "finished"]
WORKING: tuple[State, ...] = ("loading", "answering")

_MOST = 1e15  # of whatever a status counts


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a run is.

    Of its `total` examples `saved` are on disk, `failed` of them without an answer, and `in_works` are done but not
    saved: stopped now, they would be answered again. `answered` and `tokens` were made in `seconds` since this job had
    its model. `started` and `updated` are seconds since 1970.
    """

    state: State
    total: int
    saved: int = 0
    failed: int = 0
    in_works: int = 0
    answered: int = 0
    tokens: int = 0
    seconds: float = 0.0
    message: str = ""
    pid: int = 0
    started: float = 0.0
    updated: float = 0.0

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
    text = json.dumps(asdict(status))
    write_whole(folder / STATUS, lambda path: path.write_text(text, encoding="utf-8"))


def read_status(folder: Path) -> Status:
    """Read how far a run is; "interrupted" where its job ended without a word.

    Raises:
        RunError: the folder is no run.
    """
    manifest = read_manifest(folder)
    status = _written(folder) or _from_shards(folder, manifest)
    if status.state in WORKING and not is_held(folder):
        message = "The job ended without a word, killed perhaps. What it saved is whole: resume the run."
        return replace(status, state="interrupted", in_works=0, message=message)
    return status


def _written(folder: Path) -> Status | None:
    """What the job wrote last; None where there is nothing, or nothing that can be read."""
    try:
        found: dict[str, Any] = json.loads((folder / STATUS).read_text(encoding="utf-8"))
        status = typed(Status, found)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    numbers = (value for value in vars(status).values() if not isinstance(value, str))
    return status if all(0 <= number <= _MOST for number in numbers) else None


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
        return sum(error != "" for error in pq.read_table(table, columns=["error"])["error"].to_pylist())
    except (OSError, pa.ArrowException, KeyError):  # broken: whoever opens the run says so
        return 0
