"""Fault injection for scoring jobs and the app, many times each: no saved result is lost."""

import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from analysis.evidence.record import Bound, Record
from analysis.runs.attention import batch, means
from analysis.runs.files.arrays import ALIGNMENTS, OFFSETS
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.manifest import answers_path, traces_path
from analysis.runs.opened import Run, open_run
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, started
from rauq.scoring.score import score_many
from tests.jobs import ended
from tests.robustness.client import LONG_PROMPT, OF_ATLAS, connected
from tests.robustness.scoring_job import (
    EXAMPLES,
    SHARD,
    SHARDS,
    Runs,
    differences,
    fill_disk,
    hidden,
    hide_model,
    lost_answers,
    run_job,
    tiny_runs,
)

SEED = 0
MOST_BITS = 8
SLOWEST_END = 60.0  # seconds until a server has ended: torch frees its memory, and other tests may use the processor

_RESUMED_EVERY = 20  # of that many broken shards, one run is resumed
_KINDS = ("answers-", "traces-", "status")
_FULL = "cannot be written (No space left on device)"


@dataclass(frozen=True, kw_only=True)
class Injected:
    """A fault that was injected `times` times, its outcome in words, and every loss or error it caused."""

    fault: str
    times: int
    outcome: str
    losses: tuple[str, ...]


def kills(runs: Runs, *, count: int, seed: int) -> Injected:
    """SIGKILL at random moments; a run is resumed each time, and once it has finished, the next one begins."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    longest = _undisturbed_seconds(runs)
    folder, killed, finished = runs.copy_of(runs.new), 0, 0
    while killed < count or finished == 0:
        end = run_job(folder, seconds=random.uniform(0, longest) if killed < count else None)
        lost += lost_answers(runs, folder)
        if end.killed:
            killed += 1
            continue
        finished += 1
        lost += [end.error] * bool(end.error) + differences(runs, folder)
        if killed < count:
            folder = runs.copy_of(runs.new)
    return Injected(
        fault="scoring job killed with SIGKILL",
        times=killed,
        outcome=f"{finished} runs were resumed until they finished, each identical to one never killed",
        losses=tuple(lost),
    )


def full_disks(runs: Runs, *, count: int, seed: int) -> Injected:
    """From a random moment on, no space is left for one kind of file; then there is, and the job is resumed."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    for number in range(count):
        folder = runs.copy_of(runs.new)
        kind = _KINDS[number % len(_KINDS)]
        end = run_job(folder, harm=partial(fill_disk, kind, int(random.integers(1, EXAMPLES - SHARD))))
        lost += [f"the error of the job: {end.error}"] * (_FULL not in end.error)
        lost += lost_answers(runs, folder) + _lost_when_resumed(runs, folder)
    return Injected(
        fault="disk full while a job writes",
        times=count,
        outcome="the job ends with an error that says so; once there is space, it is resumed to the same end",
        losses=tuple(lost),
    )


def vanished_models(runs: Runs, *, count: int, seed: int) -> Injected:
    """The folder of a run's model is missing from a random moment on, while it is loaded or later, and comes back."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    named = 0
    longest = _undisturbed_seconds(runs)
    for _ in range(count):
        folder = runs.copy_of(runs.new)
        end = run_job(folder, harm=partial(hide_model, runs.model, random.uniform(0, longest)))
        names_folder = str(runs.model) in end.error
        named += names_folder
        lost += [f"the error of the job: {end.error}"] * bool(end.error and not names_folder)
        lost += lost_answers(runs, folder)
        hidden(runs.model).rename(runs.model)
        lost += _lost_when_resumed(runs, folder)
    return Injected(
        fault="model folder gone while a job loads it or answers",
        times=count,
        outcome=f"{count - named} jobs finished with the model in memory; {named} ended with an error that names the "
        "missing folder, and were resumed to the same end once it was back",
        losses=tuple(lost),
    )


def broken_shards(runs: Runs, *, count: int, seed: int) -> Injected:
    """One file of a shard is truncated at a random place, or some of its bits are changed."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    before = open_run(runs.finished)
    resumed = range(0, count, _RESUMED_EVERY)
    for number in range(count):
        folder = runs.copy_of(runs.finished)
        shard = int(random.integers(SHARDS))
        path = (answers_path, traces_path)[number % 2](folder, shard)
        path.write_bytes(_broken(path.read_bytes(), random))
        lost += [f"{path.name}: {fault}" for fault in _misread(open_run(folder), before, shard)]
        if number in resumed:
            lost += _lost_when_resumed(runs, folder)
    return Injected(
        fault=f"shard of a run truncated, or up to {MOST_BITS} bits of it changed",
        times=count,
        outcome="it is left out and named, or reads as before, and the other shards are unchanged; "
        f"{len(resumed)} runs were resumed, and the shard was computed again",
        losses=tuple(lost),
    )


def ended_servers(runs: Runs, *, count: int, seed: int) -> Injected:
    """SIGTERM to the server within a second after the first tokens of an answer are shown, while a job works."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    slowest = 0.0
    # The number of threads changes how sums round: it is that of the run which the job is compared with.
    threads = {name: value for name, value in os.environ.items() if name == "OMP_NUM_THREADS"}
    for _ in range(count):
        folder = runs.copy_of(runs.new)
        with started(changes={FOLDER_VARIABLE: str(runs.root), **threads}) as server:
            _start_job_and_answer(server, folder.name)
            time.sleep(random.uniform(0, 1))
            begun = time.monotonic()
            server.process.terminate()
            code = server.process.wait()
            seconds = time.monotonic() - begun
        slowest = max(slowest, seconds)
        status = ended(folder)
        lost += [f"the server took {seconds:.1f} s to end"] * (seconds > SLOWEST_END)
        lost += [f"the server ended with exit code {code}"] * (code != 0)
        lost += [f"the job is {status.state}: {status.message}"] * (status.state != "finished")
        lost += lost_answers(runs, folder) + differences(runs, folder)
    return Injected(
        fault="server ended with SIGTERM while an answer was written and a job worked",
        times=count,
        outcome=f"the server ended within {slowest:.1f} s, and the job continued to the same end",
        losses=tuple(lost),
    )


def measure() -> Record:
    """Every fault in full."""
    with tiny_runs() as runs:
        injected = (
            kills(runs, count=20, seed=SEED),
            full_disks(runs, count=20, seed=SEED),
            vanished_models(runs, count=20, seed=SEED),
            broken_shards(runs, count=500, seed=SEED),
            ended_servers(runs, count=5, seed=SEED),
        )
    losses = [f"{each.fault}: {loss}" for each in injected for loss in each.losses]
    times = sum(each.times for each in injected)
    return measured(
        "faults",
        title="Fault injection",
        about="A run of a tiny model is disturbed in each listed way and compared with an undisturbed one: saved "
        "answers must be there, and the resumed run must be identical byte for byte.",
        columns=("fault", "times", "lost or wrong", "outcome"),
        rows=[(each.fault, each.times, len(each.losses), each.outcome) for each in injected],
        bounds=[Bound(text=f"{len(losses)} losses in {times:,} faults, at most 0", met=not losses)],
        notes=losses[:20],
        packages=("torch", "transformers", "numpy", "streamlit", "pyarrow", "safetensors"),
        finding=f"Of {times:,} injected faults, {len(losses)} lost or changed saved results.",
    )


def _undisturbed_seconds(runs: Runs) -> float:
    begun = time.monotonic()
    run_job(runs.copy_of(runs.new))
    return time.monotonic() - begun


def _lost_when_resumed(runs: Runs, folder: Path) -> list[str]:
    run_job(folder)
    return differences(runs, folder)


def _broken(content: bytes, random: np.random.Generator) -> bytes:
    if random.random() < 0.5:
        return content[: random.integers(len(content))]
    changed = bytearray(content)
    for place in random.choice(len(content), random.integers(1, MOST_BITS + 1), replace=False):
        changed[place] ^= 1 << random.integers(8)
    return bytes(changed)


def _misread(found: Run, before: Run, shard: int) -> list[str]:
    """How a run differs from what it was, apart from a shard that is reported as broken."""
    reported = [fault for fault in found.faults if f"Shard {shard} " in fault]
    faults = [f"reported: {fault}" for fault in found.faults if fault not in reported]
    left_out = before.manifest.numbers(shard) if reported else ()
    rows = np.flatnonzero(~before.answers["number"].isin(left_out))
    if not found.answers.equals(before.answers.iloc[rows].reset_index(drop=True)):
        faults.append("the answers of other shards changed, which was not reported")
    for now, then in zip(_numbers(found), _numbers(before), strict=True):
        if not np.array_equal(now, then[rows], equal_nan=True):
            faults.append("a number changed, which was not reported")
    return faults


def _numbers(run: Run) -> list[np.ndarray]:
    """Scores and mean attention of all answers."""
    attention = [means(run, alignment, offset=offset) for alignment in ALIGNMENTS for offset in OFFSETS]
    return [score_many(batch(run)).uncertainty, *attention]


def _start_job_and_answer(server: Server, run: str) -> None:
    """Begin a job on the page Runs, then an answer, until its first tokens are shown."""
    received: list[bytes] = []

    def begun() -> bool:
        return any(b"of at most" in raw for raw in received)

    with connected(server.address) as client, connected(server.address, received.append) as other:
        client.open("runs")
        client.click(f"resume_{run}")
        other.open("inspect", OF_ATLAS)
        client.wait_for_page()
        while not begun():  # an answer may end before its first tokens are shown
            other.click("run", other.typed("prompt", LONG_PROMPT.format("Oslo")))
            other.wait_until(lambda: begun() or other.settled)
            if other.refusals and not begun():
                message = f"No answer begins: {other.refusals[-1]}"
                raise RuntimeError(message)
