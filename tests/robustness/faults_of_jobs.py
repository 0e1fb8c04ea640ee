"""A scoring job that is killed, finds the disk full, or misses its model: what it saved stays, and it goes on."""

import os
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np

from analysis.runs.job import STATUS, Status
from analysis.runs.shard import answers_path, traces_path
from tests.robustness.jobs_at_work import EXAMPLES, SHARD, SHARDS, Runs, losses, runs_at_hand, unlike_whole, worked
from tests.robustness.survived import Survived

_KINDS = ("answers-", "traces-", "status")
_FULL = "cannot be written (No space left on device)"


def kills(*, count: int, seed: int) -> Survived:
    """SIGKILL at random moments; the run goes on each time, and a new one is begun once it has come to its end."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    with runs_at_hand() as runs:
        longest = _seconds(runs)
        folder, killed, ends = runs.fresh(runs.prepared), 0, 0
        while killed < count or ends == 0:
            ended = worked(folder, seconds=random.uniform(0, longest) if killed < count else None)
            lost += losses(runs, folder)
            if ended.killed:
                killed += 1
                continue
            ends += 1
            lost += [ended.said] * bool(ended.said) + unlike_whole(runs, folder)
            if killed < count:
                folder = runs.fresh(runs.prepared)
    return Survived(
        fault="scoring job killed with SIGKILL",
        times=killed,
        outcome=f"{ends} runs gone on with to their end, each identical to one never killed",
        losses=tuple(lost),
    )


def full_disks(*, count: int, seed: int) -> Survived:
    """No room left, from a random moment on, for one kind of file; then there is room again, and the job goes on."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    with runs_at_hand() as runs:
        for number in range(count):
            folder = runs.fresh(runs.prepared)
            kind = _KINDS[number % len(_KINDS)]
            ended = worked(folder, harm=partial(_fill, kind, int(random.integers(1, EXAMPLES - SHARD))))
            lost += [] if _FULL in ended.said else [f"the job said: {ended.said}"]
            lost += losses(runs, folder)
            worked(folder)
            lost += unlike_whole(runs, folder)
    return Survived(
        fault="disk full while a job writes",
        times=count,
        outcome="the job ends and says so; once there is room it goes on to the same end",
        losses=tuple(lost),
    )


def vanished_models(*, count: int, seed: int) -> Survived:
    """The folder of a run's model goes at a random moment, while it is loaded or later, and comes back."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    named = 0
    with runs_at_hand() as runs:
        longest = _seconds(runs)
        for _ in range(count):
            folder = runs.fresh(runs.prepared)
            ended = worked(folder, harm=partial(_hide, runs.model, random.uniform(0, longest)))
            missed = str(runs.model) in ended.said
            named += missed
            lost += [f"the job said: {ended.said}"] * bool(ended.said and not missed)
            lost += losses(runs, folder)
            _hidden(runs.model).rename(runs.model)
            worked(folder)
            lost += unlike_whole(runs, folder)
    return Survived(
        fault="model folder gone while a job loads it or answers",
        times=count,
        outcome=f"{count - named} jobs answered on with the model in memory; {named} named the folder that is missing, "
        "and came to the same end once it was back",
        losses=tuple(lost),
    )


def _seconds(runs: Runs) -> float:
    """How long a job takes that nothing disturbs."""
    begun = time.monotonic()
    worked(runs.fresh(runs.prepared))
    return time.monotonic() - begun


def _fill(kind: str, after: int, folder: Path, status: Status) -> None:
    """From so many answers on, files of a kind are written to where the kernel has no room."""
    names = [path.name for place in (answers_path, traces_path) for path in map(partial(place, folder), range(SHARDS))]
    for name in (*names, STATUS):
        temporary = folder / f".{name}.{os.getpid()}.tmp"
        if status.done >= after and name.startswith(kind) and not temporary.is_symlink():
            temporary.symlink_to("/dev/full")


def _hide(model: Path, seconds: float, _folder: Path, status: Status) -> None:
    """So many seconds after a job has begun, the folder of its model is no longer there."""
    if status.state == "loading":
        threading.Timer(seconds, lambda: model.rename(_hidden(model))).start()


def _hidden(model: Path) -> Path:
    return model.with_name("hidden")
