"""A run of a tiny model to do harm to, and its job as a process that can be killed: forked, so it begins at once."""

import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from analysis.runs.files import is_of_run
from analysis.runs.job import Status, read_status
from analysis.runs.opened import open_run
from analysis.runs.shard import answers_path, traces_path
from analysis.runs.work import work
from rauq.errors import RauqError
from tests.architectures import save_tiny

FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = [
    "rauq.model.loading",
    "transformers.models.llama.modeling_llama",
    "pandas",
    "tests.robustness.faults_of_jobs",
]
FORKS.set_forkserver_preload(_PRELOADED)

EXAMPLES, SHARD, BATCH, TOKENS = 24, 4, 2, 4
SHARDS = EXAMPLES // SHARD

Harm = Callable[[Path, Status], None]
"""Does harm to a run, given its folder and how far its job is; a function of a module, or a part of one."""


@dataclass(frozen=True)
class Runs:
    """Runs in a folder: one that nobody began, and one that came to its end undisturbed; and the model of both."""

    root: Path

    @property
    def model(self) -> Path:
        return self.root / "model"

    @property
    def prepared(self) -> Path:
        return self.root / "prepared"

    @property
    def whole(self) -> Path:
        return self.root / "whole"

    def fresh(self, origin: Path) -> Path:
        """A copy of one of them to do harm to, in the place of the last."""
        folder = self.root / "run"
        shutil.rmtree(folder, ignore_errors=True)
        return shutil.copytree(origin, folder)


@contextmanager
def runs_at_hand() -> Iterator[Runs]:
    """Runs of a tiny model with random weights, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(Path(name))
        save_tiny(runs.model)
        examples = tuple(
            Example(id=str(number), prompt="Where is Oslo? " * (1 + number % 3) + str(number))
            for number in range(EXAMPLES)
        )
        data = DataSet(name="tiny set", examples=examples, max_new_tokens=TOKENS, stop=())
        request = request_for(data, model=str(runs.model), batch_size=BATCH, shard_size=SHARD)
        prepare(runs.prepared, data, request)
        shutil.copytree(runs.prepared, runs.whole)
        worked(runs.whole)
        yield runs


@dataclass(frozen=True)
class Ended:
    """How a job ended: killed, or in its own words, which are none where it came to its end."""

    killed: bool
    said: str


def worked(folder: Path, *, harm: Harm | None = None, seconds: float | None = None) -> Ended:
    """Let a job work on a run, and kill it after so many seconds; `harm` is told in its process how far it is."""
    heard, said = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_work, args=(folder, harm, said))
    with _no_script():
        process.start()
    said.close()
    process.join(seconds)
    code = process.exitcode  # None: it is at work still
    process.kill()
    process.join()
    with heard, suppress(EOFError):
        return Ended(killed=False, said=heard.recv())
    return Ended(killed=True, said="") if code is None else Ended(killed=False, said=f"ended with code {code}, unheard")


def losses(runs: Runs, folder: Path) -> list[str]:
    """What a run tells as saved, and is not there, or not as it is where nothing was disturbed."""
    status = read_status(folder)
    if status.saved == 0:
        return []
    found = open_run(folder)
    there = len(found.answers) + len(found.failures)
    lost = [] if there >= status.saved else [f"{status.saved} were told as saved, {there} are there"]
    files = [place(folder, shard.number) for shard in found.shards for place in (answers_path, traces_path)]
    return lost + [
        f"{path.name} differs" for path in files if path.read_bytes() != (runs.whole / path.name).read_bytes()
    ]


def unlike_whole(runs: Runs, folder: Path) -> list[str]:
    """Where a run that is to be at its end differs from one that was not disturbed, apart from its times."""
    mine, whole = contents(folder), contents(runs.whole)
    state = read_status(folder).state
    different = sorted(name for name in mine.keys() | whole.keys() if mine.get(name) != whole.get(name))
    half = [f"{path.name} was left half written" for path in folder.glob(".*.tmp")]
    return [*(f"{name} differs" for name in different), *half, *([f"the run is {state}"] * (state != "finished"))]


def contents(folder: Path) -> dict[str, bytes]:
    """Everything that a run is: its times and its status are not."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


@contextmanager
def _no_script() -> Iterator[None]:
    """Let no script be run again in a job: in a test of pages, it is a page's, which does not run by itself."""
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _work(folder: Path, harm: Harm | None, said: Connection) -> None:
    try:
        work(folder, on_progress=None if harm is None else partial(harm, folder))
    except RauqError as error:
        said.send(str(error))
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        said.send(f"unforeseen: {type(error).__name__}: {error}")
    else:
        said.send("")
