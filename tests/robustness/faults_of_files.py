"""A truncated shard, or one with changed bits: it is reported, the others are unchanged, and it is computed again."""

import numpy as np

from analysis.runs.opened import Run, batch, means, open_run
from analysis.runs.shard import ALIGNMENTS, OFFSETS, answers_path, traces_path
from rauq.scoring.score import score_many
from tests.robustness.jobs_at_work import SHARDS, runs_at_hand, unlike_whole, worked
from tests.robustness.survived import Survived

MOST_BITS = 8
_AGAIN = 20  # every so many, the run is gone on with


def broken_shards(*, count: int, seed: int) -> Survived:
    """Each time one file of a shard is cut at a random place, or random bits of it are changed."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    gone_on_with = range(0, count, _AGAIN)
    with runs_at_hand() as runs:
        before = open_run(runs.whole)
        for number in range(count):
            folder = runs.fresh(runs.whole)
            shard = int(random.integers(SHARDS))
            path = (answers_path, traces_path)[number % 2](folder, shard)
            path.write_bytes(_spoilt(path.read_bytes(), random))
            lost += [f"{path.name}: {fault}" for fault in _misread(open_run(folder), before, shard)]
            if number in gone_on_with:
                worked(folder)
                lost += unlike_whole(runs, folder)
    return Survived(
        fault="shard of a run cut, or up to eight bits of it changed",
        times=count,
        outcome="it is left out and named, or reads as before, and the other shards are as they were; "
        f"{len(gone_on_with)} times the job went on, and made it anew",
        losses=tuple(lost),
    )


def _spoilt(content: bytes, random: np.random.Generator) -> bytes:
    if random.random() < 0.5:
        return content[: random.integers(len(content))]
    changed = bytearray(content)
    for place in random.choice(len(content), random.integers(1, MOST_BITS + 1), replace=False):
        changed[place] ^= 1 << random.integers(8)
    return bytes(changed)


def _misread(found: Run, before: Run, shard: int) -> list[str]:
    """Where a run differs from what it was, apart from a shard that is told as broken."""
    told = [fault for fault in found.faults if f"Shard {shard} " in fault]
    faults = [f"told: {fault}" for fault in found.faults if fault not in told]
    left_out = before.manifest.numbers(shard) if told else ()
    rows = np.flatnonzero(~before.answers["number"].isin(left_out))
    if not found.answers.equals(before.answers.iloc[rows].reset_index(drop=True)):
        faults.append("the answers of other shards changed, and nothing was told")
    for now, then in zip(_numbers(found), _numbers(before), strict=True):
        if not np.array_equal(now, then[rows], equal_nan=True):
            faults.append("a number changed, and nothing was told")
    return faults


def _numbers(run: Run) -> list[np.ndarray]:
    """Scores and mean attention of all answers."""
    attention = [means(run, alignment, offset=offset) for alignment in ALIGNMENTS for offset in OFFSETS]
    return [score_many(batch(run)).uncertainty, *attention]
