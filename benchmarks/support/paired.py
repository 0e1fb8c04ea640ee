"""Several ways of doing something, timed in turn: medians of their ratios, each with a bootstrap interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

_RESAMPLES = 2000


@dataclass(frozen=True)
class Ratio:
    """Median of paired ratios and its 95 % interval."""

    median: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Spent(NamedTuple):
    """Seconds of one call: CPU time of this process, all threads, and wall time."""

    cpu: float
    wall: float


def ratio(ours: Sequence[float], base: Sequence[float]) -> Ratio:
    """Median of ours / base over pairs, with a percentile interval from seeded resamples of the pairs."""
    ratios = np.asarray(ours) / np.asarray(base)
    picks = np.random.default_rng(0).integers(len(ratios), size=(_RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[picks], axis=1), [2.5, 97.5])
    return Ratio(float(np.median(ratios)), float(low), float(high), len(ratios))


def seconds(samples: Sequence[float]) -> Ratio:
    """The median of the samples themselves, with the same interval."""
    return ratio(samples, [1.0] * len(samples))


def spent(run: Callable[[], object]) -> Spent:
    """What one call takes."""
    cpu, wall = process_time(), perf_counter()
    run()
    return Spent(process_time() - cpu, perf_counter() - wall)


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU time of one call."""
    return spent(run).cpu


def one_turn(turn: int, *runs: Callable[[], object]) -> list[Spent]:
    """What each of the runs takes, in their order; in every second turn they run in the opposite order."""
    places = range(len(runs))
    taken = {place: spent(runs[place]) for place in (reversed(places) if turn % 2 else places)}
    return [taken[place] for place in places]


def in_turn(turns: int, *runs: Callable[[], object]) -> list[list[float]]:
    """CPU seconds of each run, turn by turn."""
    taken = [one_turn(turn, *runs) for turn in range(turns)]
    return [[each.cpu for each in run] for run in zip(*taken, strict=True)]
