"""What capturing attention and scoring with RAUQ take of memory, relative to plain generation.

The random model, 64 new tokens: the peak above the loaded model, each run in a process of its own, medians. The
allocator is told to return every block of 1 MiB and more as soon as it is freed: by default glibc keeps some of them,
and how many differs by chance: by 100 to 400 MiB between equal runs of either. `benchmarks.peers` measures with the
allocator as it is. Bound, at every prompt length: ours takes at most 48 MiB more.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.processes import apart, extra_peak
from benchmarks.support.random_model import build, ours, plain, prompt_of, wrapped
from benchmarks.support.recording import at_most, measured, tell
from rauq import LanguageModel

LENGTHS = (32, 512, 2048, 4096, 8192)
RUNS = 3
MOST_EXTRA_MIB = 48
WAYS = (plain, ours)
_HOW = (
    "Both are measured with MALLOC_MMAP_THRESHOLD_=1048576. Without it glibc keeps freed blocks by chance, and equal "
    "runs of either differ by 100 MiB and more; the comparison with lm-polygraph is made without it."
)


class Peaks(NamedTuple):
    """Peak MiB above the loaded model at one prompt length, of plain generation and of ours, in every process."""

    length: int
    plain: Sequence[float]
    ours: Sequence[float]

    @property
    def extra(self) -> float:
        """How much more ours takes, in the median."""
        return float(np.median(self.ours) - np.median(self.plain))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        middles = float(np.median(self.plain)), float(np.median(self.ours))
        return self.length, *middles, self.extra, min(self.ours), max(self.ours)

    @property
    def bound(self) -> Bound:
        """What is promised at every length."""
        return at_most(f"{self.length} tokens, extra peak memory, MiB", self.extra, MOST_EXTRA_MIB)


def measure() -> Record:
    """Both ways in turn, one prompt length after the other."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(2**20)  # glibc reads it when a process starts: those that follow
    return _record([_peaks(length) for length in LENGTHS])


def _peaks(length: int) -> Peaks:
    tell(f"prompt of {length:,} tokens")
    turns = [[apart(_peak, way, length) for way in WAYS] for _ in range(RUNS)]
    return Peaks(length, *zip(*turns, strict=True))


def _peak(way: Callable[[LanguageModel, list[int]], None], length: int) -> float:
    """Peak MiB of one way in this process, above what the loaded model takes."""
    lm = wrapped(build())
    plain(lm, prompt_of(8))  # what every first call allocates
    return extra_peak(partial(way, lm, prompt_of(length)))


def _record(found: Sequence[Peaks]) -> Record:
    most, lengths = max(one.extra for one in found), f"{found[0].length:,} to {found[-1].length:,}"
    return measured(
        "memory",
        title="Memory of generating and scoring, relative to plain generation",
        about="Batch 1, 64 new tokens, the random model of Llama's shape: peak resident memory above the loaded model, "
        f"medians of {RUNS} processes; low and high are the least and the most of ours.",
        columns=("prompt tokens", "plain MiB", "ours MiB", "extra MiB", "low", "high"),
        rows=[one.cells for one in found],
        bounds=[one.bound for one in found],
        notes=(_HOW,),
        finding=f"Generating and scoring takes at most {max(most, 0):.0f} MiB more memory than plain generation, at "
        f"{lengths} prompt tokens.",
    )
