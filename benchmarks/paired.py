"""Two things measured in turn: the median of their ratios, with a bootstrap interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

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


def ratio(ours: Sequence[float], base: Sequence[float]) -> Ratio:
    """Median of ours / base over pairs, with a percentile interval from seeded resamples of the pairs."""
    ratios = np.asarray(ours) / np.asarray(base)
    picks = np.random.default_rng(0).integers(len(ratios), size=(_RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[picks], axis=1), [2.5, 97.5])
    return Ratio(float(np.median(ratios)), float(low), float(high), len(ratios))


def seconds(samples: Sequence[float]) -> Ratio:
    """The median of the samples themselves, with the same interval."""
    return ratio(samples, [1.0] * len(samples))


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU time of this process, all threads, for one call."""
    start = process_time()
    run()
    return process_time() - start
