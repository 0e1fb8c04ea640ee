"""Runs of smollm2 on Ray have the bytes of one process, with any number of actors and after faults."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from analysis.datasets.names import load
from analysis.evidence.record import Bound, Record
from analysis.runs.create import prepare, request_for
from analysis.runs.job import read_status
from analysis.runs.manifest import is_of_run
from benchmarks.support.recording import measured, tell
from rauq.cli.commands import KNOWN_ERROR
from tests.ray_cluster import ROOT, Started, cluster

MODEL, DATA = "smollm2", "facts"
SHARDS, SHARD, TOKENS = 12, 8, 16
PATIENCE, POLL_SECONDS = 600.0, 0.05

Job = subprocess.Popen[str]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run that has ended: seconds of its command and of answering alone, and the files that differ from a plain run.

    Where the run was resumed, `answering` is of the second command alone.
    """

    case: str
    actors: int
    seconds: float
    answering: float
    differing: tuple[str, ...]


def score(folder: Path, *options: str) -> Job:
    """The command that works on a prepared run, as a process that is not waited for."""
    command = [sys.executable, "-m", "analysis", "score", "--out", str(folder), "--resume", *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def contents(folder: Path) -> dict[str, bytes]:
    """What must be equal: every file of a run but its times, status and lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


def undisturbed(job: Job, _running: Started, _folder: Path) -> Job:
    """Do nothing to the run."""
    return job


def killed_actor(job: Job, running: Started, _folder: Path) -> Job:
    """Kill a process that answers shards."""
    running.kill_actor()
    return job


def lost_node(job: Job, running: Started, folder: Path) -> Job:
    """Take a node away while both answer."""
    _wait_for_shards(folder, 2)
    running.lose_node()
    return job


def killed_driver(job: Job, running: Started, folder: Path) -> Job:
    """Kill the process that writes the run, and resume the run."""
    _wait_for_shards(folder, 2)
    job.kill()
    job.communicate()
    return score(folder, "--on", running.address)


def killed_head(job: Job, running: Started, folder: Path) -> Job:
    """Kill the cluster while both answer, and resume the run without one, once the command has said so."""
    _wait_for_shards(folder, 2)
    running.kill_head()
    said, _ = job.communicate(timeout=PATIENCE)
    if job.returncode != KNOWN_ERROR or "The connection to Ray was lost" not in said:
        raise RuntimeError(said)
    return score(folder)


Disturbance = Callable[[Job, Started, Path], Job]
"""Does something to a run and its cluster, and returns the command that ends the run."""

UNDISTURBED, ACTORS = "on Ray", (1, 2, 4)
DISTURBED: MappingProxyType[str, Disturbance] = MappingProxyType(
    {
        "an actor is killed": killed_actor,
        "a node is lost": lost_node,
        "the driver is killed, the run resumed": killed_driver,
        "the head dies, the run resumed without Ray": killed_head,
    }
)


def _wait_for_shards(folder: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("answers-*"))) < count:
        if time.monotonic() > deadline:
            message = f"{folder} has no {count} shards after {PATIENCE:g} s"
            raise TimeoutError(message)
        time.sleep(POLL_SECONDS)


@contextmanager
def _cluster(actors: int) -> Iterator[Started]:
    scratch = tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)
    with scratch as files, cluster(files, nodes=actors) as running:
        yield running


def measure() -> Record:
    """Answer one data set plainly, by 1, 2 and 4 actors, and once with each disturbance."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        new = folder / "new"
        data = load(DATA, kind="instruct", limit=SHARDS * SHARD)
        request = request_for(data, model=MODEL, shard_size=SHARD, batch_size=SHARD, max_new_tokens=TOKENS, threads=1)
        prepare(new, data, request, name="run")
        plain = _ended(new, folder / "plain", case="in one process")
        on_ray = partial(_ended, new, wanted=contents(folder / "plain"))
        runs = [
            plain,
            *(on_ray(folder / f"{actors}", case=UNDISTURBED, actors=actors) for actors in ACTORS),
            *(on_ray(folder / case, case=case, actors=2, disturb=disturb) for case, disturb in DISTURBED.items()),
        ]
    return _record(runs)


def _ended(
    new: Path,
    folder: Path,
    *,
    case: str,
    actors: int = 0,
    wanted: Mapping[str, bytes] | None = None,
    disturb: Disturbance = undisturbed,
) -> Ended:
    """Work on a copy of a new run to its end, without actors in one process; `wanted` is what it should hold then."""
    shutil.copytree(new, folder)
    with _cluster(actors) if actors else nullcontext() as running:
        begun = time.monotonic()
        job = disturb(score(folder, "--on", running.address), running, folder) if running else score(folder)
        said, _ = job.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - begun
    if job.returncode != 0:
        raise RuntimeError(said)
    differing = () if wanted is None else _differing(contents(folder), wanted)
    tell(f"{case}, {actors} actors: {seconds:.0f} s, {len(differing)} files differ")
    return Ended(case=case, actors=actors, seconds=seconds, answering=read_status(folder).seconds, differing=differing)


def _differing(found: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(name for name in sorted(found.keys() | wanted.keys()) if found.get(name) != wanted.get(name))


def _record(runs: list[Ended]) -> Record:
    answers, differing = SHARDS * SHARD, sum(bool(run.differing) for run in runs)
    by_actors = {run.actors: run.answering for run in runs if run.case == UNDISTURBED}
    return measured(
        "ray",
        title="A data set on Ray",
        about=f"{MODEL} answers {answers} questions about facts, {TOKENS} tokens each, in {SHARDS} shards: in one "
        "process, and over the client port of a cluster on this machine that has a node, declared with one processor, "
        "for each actor. Every process computes with one thread. A disturbed run has two actors: one is killed with "
        "SIGKILL while it answers, a node is taken away, the command itself is killed and repeated, or the whole "
        "cluster is killed and the command repeated without it.",
        columns=("run", "actors", "seconds", "answering, s", "answers per minute", "files that differ"),
        rows=[
            (run.case, run.actors, run.seconds, run.answering, 60 * answers / run.seconds, len(run.differing))
            for run in runs
        ],
        bounds=[Bound(text=f"{differing} of {len(runs) - 1} runs on Ray differ from the plain one", met=not differing)],
        notes=(
            "Seconds: of the command, its start and the loading of models included.",
            "Answering: since a model was loaded; of a resumed run the second command alone.",
            "Times, status and lock are not compared.",
            "More actors than the machine has cores show what Ray costs, not what more machines would bring.",
        ),
        finding=f"All runs on Ray have the bytes of the plain one, and two actors answer in "
        f"{100 * by_actors[2] / by_actors[1]:.0f} % of the time that one takes."
        if not differing
        else f"{differing} runs on Ray differ from the plain one.",
        packages=("ray", "torch", "transformers", "pyarrow"),
    )
