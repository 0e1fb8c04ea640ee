"""Bootstrap of many means at once: a resample is how often it draws each answer, so that means are matrix products."""

from dataclasses import dataclass

import numpy as np

from analysis.metrics import divided


@dataclass(frozen=True, eq=False)
class Intervals:
    """K values, and the ends of their 95 % intervals; nan where undefined."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def draw_counts(rng: np.random.Generator, size: int, *, count: int) -> np.ndarray:
    """How often each of `size` answers is drawn in each of `count` resamples: (count, size)."""
    drawn = rng.integers(size, size=(count, size)) + np.arange(count)[:, None] * size
    return np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size).astype(float)


def resampled_means(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the columns of `values` (A, K) in each resample of `counts` (R, A): (R, K); a nan is left out."""
    there = np.isfinite(values)
    drawn = counts @ there
    return divided(counts @ np.where(there, values, 0.0), drawn)


def with_interval(value: np.ndarray, resampled: np.ndarray, *, level: float = 0.95) -> Intervals:
    """Values (K,) with the central intervals of their resampled values (R, K); nan among these is left out."""
    tail = (1 - level) / 2
    ends = np.full((2, len(value)), np.nan)
    for column in np.flatnonzero(np.isfinite(value) & np.isfinite(resampled).any(axis=0)):
        ends[:, column] = np.nanquantile(resampled[:, column], (tail, 1 - tail))
    return Intervals(value, *ends)
