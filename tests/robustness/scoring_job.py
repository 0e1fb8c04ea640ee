"""A run of a tiny model for fault injection, its scoring job as a process, and what can go wrong while that works."""

import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from analysis.runs.job import STATUS, Status, read_status
from analysis.runs.manifest import answers_path, is_of_run, traces_path
from analysis.runs.opened import open_run
from analysis.runs.work import work
from rauq.errors import RauqError
from tests.architectures import save_tiny

EXAMPLES, SHARD, BATCH, TOKENS = 24, 4, 2, 4
SHARDS = EXAMPLES // SHARD

Harm = Callable[[Path, Status], None]
"""Called in the process of a job with the folder of its run and each status."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["rauq.model.loading", "transformers.models.llama.modeling_llama", "pandas", "tests.robustness.scoring_job"]
)


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Folders in `root`: a tiny model, a new run that asks for it, and a finished one that nothing disturbed."""

    root: Path
    model: Path
    new: Path
    finished: Path

    def copy_of(self, origin: Path) -> Path:
        """A copy of a run, in the place of the last copy."""
        folder = self.root / "run"
        shutil.rmtree(folder, ignore_errors=True)
        return shutil.copytree(origin, folder)


@contextmanager
def tiny_runs() -> Iterator[Runs]:
    """Runs of a tiny model with random weights, in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        runs = Runs(root=root, model=root / "model", new=root / "new", finished=root / "finished")
        save_tiny(runs.model)
        prompts = ("Where is Oslo? " * (1 + number % 3) + str(number) for number in range(EXAMPLES))
        examples = tuple(Example(id=str(number), prompt=prompt) for number, prompt in enumerate(prompts))
        data = DataSet(name="tiny set", examples=examples, max_new_tokens=TOKENS, stop=())
        prepare(runs.new, data, request_for(data, model=str(runs.model), batch_size=BATCH, shard_size=SHARD))
        shutil.copytree(runs.new, runs.finished)
        run_job(runs.finished)
        yield runs


@dataclass(frozen=True)
class JobEnd:
    """How a job ended: killed, or by itself, with the message of its error, "" without one."""

    killed: bool
    error: str


def run_job(folder: Path, *, harm: Harm | None = None, seconds: float | None = None) -> JobEnd:
    """Run the job of a run in a process of its own, and kill it after so many seconds."""
    receiver, sender = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_work, args=(folder, harm, sender))
    with _without_script():
        process.start()
    sender.close()
    process.join(seconds)
    code = process.exitcode  # None: it has not ended
    process.kill()
    process.join()
    with receiver, suppress(EOFError):
        return JobEnd(killed=False, error=receiver.recv())
    return JobEnd(killed=code is None, error="" if code is None else f"exit code {code} without a message")


def _work(folder: Path, harm: Harm | None, sender: Connection) -> None:
    try:
        work(folder, on_progress=None if harm is None else partial(harm, folder))
    except RauqError as error:
        sender.send(str(error))
    except Exception as error:  # noqa: BLE001 - every other error is a fault
        sender.send(f"unhandled {type(error).__name__}: {error}")
    else:
        sender.send("")


@contextmanager
def _without_script() -> Iterator[None]:
    """A new process runs the script of its parent again; after a test of pages that is a page, which would fail."""
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def fill_disk(kind: str, after: int, folder: Path, status: Status) -> None:
    """From so many answers on, there is no space left for files whose names begin with `kind`."""
    paths = [place(folder, shard) for place in (answers_path, traces_path) for shard in range(SHARDS)]
    for name in (*(path.name for path in paths), STATUS):
        temporary = folder / f".{name}.{os.getpid()}.{threading.get_ident()}.tmp"
        if status.done >= after and name.startswith(kind) and not temporary.is_symlink():
            temporary.symlink_to("/dev/full")


def hide_model(model: Path, seconds: float, _folder: Path, status: Status) -> None:
    """So many seconds after a job has begun, the folder of its model is missing."""
    if status.state == "loading":
        threading.Timer(seconds, lambda: model.rename(hidden(model))).start()


def hidden(model: Path) -> Path:
    """Where `hide_model` puts the folder."""
    return model.with_name("hidden")


def lost_answers(runs: Runs, folder: Path) -> list[str]:
    """Answers of a run that its status counts as saved, but that are missing, or differ from the finished run."""
    status = read_status(folder)
    if status.saved == 0:
        return []
    found = open_run(folder)
    count = len(found.answers) + len(found.failures)
    missing = [f"{status.saved} answers saved, {count} found"] * (count < status.saved)
    files = [place(folder, shard.number) for shard in found.shards for place in (answers_path, traces_path)]
    changed = [path.name for path in files if path.read_bytes() != (runs.finished / path.name).read_bytes()]
    return [*missing, *(f"{name} differs" for name in changed)]


def differences(runs: Runs, folder: Path) -> list[str]:
    """How a run differs from the finished one, apart from its times."""
    mine, expected = _contents(folder), _contents(runs.finished)
    state = read_status(folder).state
    different = sorted(name for name in mine.keys() | expected.keys() if mine.get(name) != expected.get(name))
    half = [f"{path.name} was left half-written" for path in folder.glob(".*.tmp")]
    return [*(f"{name} differs" for name in different), *half, *[f"the run is {state}"] * (state != "finished")]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}
