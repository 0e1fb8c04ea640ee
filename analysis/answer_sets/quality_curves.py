"""Quality over a value: its correlation with attention, and its mean in bins of attention (paper, figure 3b)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.answer_sets.clusters import clusters_or_own
from analysis.intervals import Answers, estimate, rarer_side
from analysis.stats import Estimate, Intervals, defined, is_constant, pearson, spearman, student
from rauq.errors import InvalidInput


@dataclass(frozen=True)
class Correlations:
    """Correlation of ranks (Spearman) and of the values themselves (Pearson), from -1 to 1, with intervals."""

    spearman: Estimate
    pearson: Estimate


def correlations(values: np.ndarray, quality: np.ndarray, *, clusters: np.ndarray | None = None) -> Correlations:
    """Correlate `values` (A,) with `quality` (A,); answers that lack one of them are left out and counted.

    `clusters` (A,): answers to one question have one label; None: each answers a question of its own.
    """
    found = [estimate(metric, values, quality, clusters=clusters) for metric in (spearman, pearson)]
    return Correlations(*(replace(one, reason=_reason(values, quality) if one.reason else "") for one in found))


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
    values: np.ndarray, quality: np.ndarray, *, bins: int = 10, clusters: np.ndarray | None = None
) -> QualityBins:
    """Put A answers into bins by the quantiles of `values` (A,); equal values share a bin, so there may be fewer.

    `clusters` (A,): answers to one question have one label; None: each answers a question of its own.

    Raises:
        InvalidInput: fewer than one bin.
    """
    if bins < 1:
        message = f"bins is {bins}; it must be at least 1."
        raise InvalidInput(message)
    rows = np.flatnonzero(np.isfinite(values) & np.isfinite(quality))
    kept, qualities = np.asarray(values, dtype=float)[rows], np.asarray(quality, dtype=float)[rows]
    members, cluster = _members(kept, bins), clusters_or_own(clusters, len(values))[rows]  # members: (B, n)
    return QualityBins(
        rows=rows,
        values=kept,
        quality=qualities,
        low=np.array([kept[member].min() for member in members]),
        high=np.array([kept[member].max() for member in members]),
        middle=np.array([np.median(kept[member]) for member in members]),
        count=members.sum(axis=1),
        quality_means=_means(qualities, members, cluster),
        excluded=len(values) - len(rows),
        reason="" if len(rows) else "no answer has both values",
    )


def _members(values: np.ndarray, bins: int) -> np.ndarray:
    if not values.size:
        return np.zeros((0, 0), dtype=bool)
    edges = np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1])
    place = np.searchsorted(edges, values, side="left")
    return np.unique(place)[:, None] == place


def _means(quality: np.ndarray, members: np.ndarray, cluster: np.ndarray) -> Intervals:
    means = [mean_quality(quality[member], cluster[member], within=_range(quality)) for member in members]
    value, low, high = np.array(means, dtype=float).reshape(-1, 3).T
    return Intervals(value, low, high)


def _range(quality: np.ndarray) -> tuple[float, float]:
    """Between which numbers quality lies: 0 and 1, unless a measure goes beyond."""
    return min(0.0, float(quality.min())), max(1.0, float(quality.max()))


def mean_quality(
    quality: np.ndarray, cluster: np.ndarray, *, within: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float, float]:
    """The mean of n qualities that lie `within` two numbers, with the ends of its 95 % interval by question.

    Wilson's interval (1927), for as many answers as would have the variance that the sums of the questions have, with
    Student's quantile. Ends are nan where all answers are equal, or where so few differ that it would be too narrow.
    """
    value, (least, most) = float(quality.mean()), within
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1].reshape(-1), quality - value) / len(quality)
    share, variance = (value - least) / (most - least), float(sums @ sums) / (most - least) ** 2
    if rarer_side(Answers(quality, cluster)) < _LEAST or not variance:
        return value, math.nan, math.nan
    size = share * (1 - share) / variance * (len(sums) - 1) / len(sums)
    far = float(student(np.array(max(len(sums) - 1, 2)))) ** 2 / size
    centre, half = (share + far / 2) / (1 + far), math.sqrt(far * (share * (1 - share) + far / 4)) / (1 + far)
    low, high = (least + (most - least) * end for end in (centre - half, centre + half))
    return value, low, high


_LEAST = 2  # questions with an answer of the rarer kind in a bin: with fewer, its mean has no interval
