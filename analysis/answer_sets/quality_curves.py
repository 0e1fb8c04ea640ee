"""Quality over a value: its correlation with attention, and its mean in bins of attention (paper, figure 3b)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.stats import (
    Estimate,
    Intervals,
    defined,
    draw_counts,
    estimate,
    is_constant,
    resampled_means,
    spearman,
    with_interval,
)
from rauq.errors import InvalidInput


@dataclass(frozen=True)
class Correlations:
    """Correlation of ranks (Spearman) and of the values themselves (Pearson), from -1 to 1, with intervals."""

    spearman: Estimate
    pearson: Estimate


def correlations(values: np.ndarray, quality: np.ndarray, *, resamples: int = 1000, seed: int = 0) -> Correlations:
    """Correlate `values` (A,) with `quality` (A,); answers that lack one of them are left out and counted."""
    found = [estimate(metric, values, quality, seed=seed, count=resamples) for metric in (spearman, _pearson)]
    return Correlations(*(replace(one, reason=_reason(values, quality) if one.reason else "") for one in found))


def _pearson(first: np.ndarray, second: np.ndarray) -> float:
    """Linear correlation of two measurements (A,) of the same answers; nan if one is constant."""
    # Ours, because scipy takes eight times as long and np.corrcoef twice as long, in each of a thousand resamples.
    first, second = defined(first, second)
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return math.nan
    deviations = [values - values.mean() for values in (first, second)]
    return float(deviations[0] @ deviations[1] / math.sqrt(math.prod(one @ one for one in deviations)))


def _reason(values: np.ndarray, quality: np.ndarray) -> str:
    values, quality = defined(values, quality)
    if len(values) < 2:
        return "fewer than two answers have both values"
    return f"all {len(values)} answers have the same {'quality' if is_constant(quality) else 'attention'}"


@dataclass(frozen=True, eq=False, kw_only=True)
class QualityBins:
    """B bins of about as many answers each, by attention or whatever else `values` are.

    `rows` (n,) are the answers that count, positions among all, with their `values` and `quality`. A bin reaches from
    `low` to `high` (B,), has its median at `middle`, and holds `count` answers of mean `quality_means`; a bin whose
    answers are all of one quality has a mean and no interval. `excluded` answers lack a value or a quality; `reason`
    says why there is no bin.
    """

    rows: np.ndarray
    values: np.ndarray
    quality: np.ndarray
    low: np.ndarray
    high: np.ndarray
    middle: np.ndarray
    count: np.ndarray
    quality_means: Intervals
    excluded: int
    reason: str


def quality_bins(
    values: np.ndarray, quality: np.ndarray, *, bins: int = 10, resamples: int = 1000, seed: int = 0
) -> QualityBins:
    """Put A answers into bins by the quantiles of `values` (A,); equal values share a bin, so there may be fewer.

    Raises:
        InvalidInput: fewer than one bin.
    """
    if bins < 1:
        message = f"bins is {bins}; it must be at least 1."
        raise InvalidInput(message)
    rows = np.flatnonzero(np.isfinite(values) & np.isfinite(quality))
    kept, qualities = np.asarray(values, dtype=float)[rows], np.asarray(quality, dtype=float)[rows]
    members = _members(kept, bins)  # (B, n)
    return QualityBins(
        rows=rows,
        values=kept,
        quality=qualities,
        low=np.array([kept[member].min() for member in members]),
        high=np.array([kept[member].max() for member in members]),
        middle=np.array([np.median(kept[member]) for member in members]),
        count=members.sum(axis=1),
        quality_means=_means(qualities, members, resamples, seed),
        excluded=len(values) - len(rows),
        reason="" if len(rows) else "no answer has both values",
    )


def _members(values: np.ndarray, bins: int) -> np.ndarray:
    if not values.size:
        return np.zeros((0, 0), dtype=bool)
    edges = np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1])
    place = np.searchsorted(edges, values, side="left")
    return np.unique(place)[:, None] == place


def _means(quality: np.ndarray, members: np.ndarray, resamples: int, seed: int) -> Intervals:
    within = np.where(members, quality, np.nan).T.reshape(len(quality), len(members))  # (n, B)
    means = np.array([quality[member].mean() for member in members])
    if not means.size:
        return Intervals(means, means, means)
    resampled = resampled_means(draw_counts(np.random.default_rng(seed), len(quality), count=resamples), within)
    constant = np.array([np.ptp(quality[member]) == 0 for member in members])
    return with_interval(means, np.where(constant, np.nan, resampled))
