"""Quality over a value: its mean in bins of attention (paper, figure 3b), and the share correct at each uncertainty.

A share is an observation on this set, not a probability elsewhere.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.stats import (
    Estimate,
    Intervals,
    check_correct,
    defined,
    draw_counts,
    estimate,
    is_constant,
    resampled_means,
    resamples,
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


LEAST = 20  # answers; with fewer the band is all there is to see


@dataclass(frozen=True, eq=False)
class Calibration:
    """Share of correct answers (S,) at each score (S,) that occurs, ascending, and its pointwise interval (S,).

    Empty where it is undefined, and then `reason` says why. `n` answers count; `excluded` had no score or no quality.
    """

    scores: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    excluded: int
    reason: str = ""


def calibrate(
    uncertainty: np.ndarray, correct: np.ndarray, *, seed: int = 0, count: int = 400, level: float = 0.95
) -> Calibration:
    """Fit the share of correct answers as a function that never rises with uncertainty (isotonic regression).

    `uncertainty` (A,), `correct` (A,): 1 or 0, nan where it is unknown. The interval is that of `count` bootstrap
    resamples of the answers, at each score.

    Raises:
        InvalidInput: another number in `correct`.
    """
    given = len(uncertainty)
    uncertainty, correct = defined(uncertainty, correct)
    check_correct(correct)
    n = len(correct)
    if reason := _why_not(correct):
        empty = np.empty(0)
        return Calibration(empty, empty, empty, empty, n, given - n, reason)
    scores, places = np.unique(uncertainty, return_inverse=True)
    share = _isotonic(places, correct, len(scores))
    fits = np.array([_isotonic(places[d], correct[d], len(scores)) for d in resamples(n, count=count, seed=seed)])
    low, high = np.quantile(fits, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return Calibration(scores, share, low, high, n, given - n)


def share_at(calibration: Calibration, score: float) -> tuple[float, float, float]:
    """Return the share of correct answers at a score and its interval: (share, low, high).

    Between two scores of the set it is that of the lower one, beyond them that of the last; nan for a score that is
    nan, and where the calibration is undefined.
    """
    if math.isnan(score) or not len(calibration.scores):
        return math.nan, math.nan, math.nan
    place = max(int(np.searchsorted(calibration.scores, score, side="right")) - 1, 0)
    return float(calibration.share[place]), float(calibration.low[place]), float(calibration.high[place])


def _why_not(correct: np.ndarray) -> str:
    if len(correct) < LEAST:
        return f"only {len(correct)} answers have a score and a known quality; at least {LEAST} are needed"
    if len(set(correct.tolist())) < 2:
        return f"all {len(correct)} answers are {'correct' if correct[0] else 'incorrect'}"
    return ""


def _isotonic(places: np.ndarray, correct: np.ndarray, size: int) -> np.ndarray:
    """Share (S,) at each of `size` places in the order of uncertainty; between its neighbours where no answer falls."""
    from scipy.optimize import isotonic_regression

    weights = np.bincount(places, minlength=size)
    seen = np.flatnonzero(weights)
    means = np.bincount(places, correct, minlength=size)[seen] / weights[seen]
    fitted = isotonic_regression(means, weights=weights[seen], increasing=False)
    return np.interp(np.arange(size), seen, fitted.x)
