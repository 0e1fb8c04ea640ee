"""Numbers about a set of answers: how well an uncertainty ranks them, on how many answers, with bootstrap intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.labels import number


@dataclass(frozen=True, eq=False)
class Intervals:
    """K values, and the ends of their 95 % intervals; nan where undefined."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


# Ours, because scipy's bootstrap pairs no metrics by shared resamples, and one undefined resample leaves no interval.
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


@dataclass(frozen=True, eq=False)
class RejectionCurve:
    """Mean quality of what is kept after each of K rejections, the first of which rejects nothing.

    `rejected` (K,): share of the answers. `kept_quality` (K,): under the uncertainty; `oracle` (K,): when the worst
    answers go first; `random` (K,): expected of a random order. `n` answers count; `excluded` had no uncertainty or
    no quality. Source: paper, appendix on PRR.
    """

    rejected: np.ndarray
    kept_quality: np.ndarray
    oracle: np.ndarray
    random: np.ndarray
    n: int
    excluded: int


def rejection_curve(uncertainty: np.ndarray, quality: np.ndarray, *, max_rejection: float = 1.0) -> RejectionCurve:
    """Reject one answer after the other, up to the share `max_rejection`.

    Answers of equal uncertainty count as averaged over their orders, and random as its expectation, which is the mean
    quality at every share. Pairs are left out as `defined` says.

    Raises:
        InvalidInput: `max_rejection` is no share.
    """
    if not 0 < max_rejection <= 1:
        message = f"The largest share to reject must be above 0 and at most 1; got {max_rejection:g}."
        raise InvalidInput(message)
    given = len(uncertainty)
    uncertainty, quality = defined(uncertainty, quality)
    n = len(quality)
    points = int(max_rejection * n)
    return RejectionCurve(
        rejected=np.arange(points) / max(n, 1),
        kept_quality=_kept(_tied_quality(uncertainty, quality), points),
        oracle=_kept(np.sort(quality)[::-1], points),
        random=np.full(points, quality.mean() if n else np.nan),
        n=n,
        excluded=given - n,
    )


def defined(uncertainty: np.ndarray, quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that can be ranked and averaged, as floats."""
    uncertainty, quality = np.asarray(uncertainty, dtype=float), np.asarray(quality, dtype=float)
    kept = is_defined(uncertainty, quality)
    return uncertainty[kept], quality[kept]


def is_defined(uncertainty: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """Which pairs (A,) can be ranked and averaged: no nan, and no infinite quality; infinite uncertainty ranks."""
    return ~np.isnan(uncertainty) & np.isfinite(quality)


def _tied_quality(uncertainty: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """Quality (A,) from the most certain answer on; in a tie each place holds the mean of its group."""
    order = np.argsort(uncertainty)
    ranked, sure = quality[order], uncertainty[order]
    starts = np.flatnonzero(np.append(True, sure[1:] != sure[:-1])) if len(sure) else order
    if len(starts) == len(sure):
        return ranked
    sizes = np.diff(np.append(starts, len(sure)))
    return np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)


def _kept(ranked: np.ndarray, points: int) -> np.ndarray:
    """Mean (K,) of what is kept after 0 to `points` - 1 rejections from the end."""
    means = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return means[len(means) - points :][::-1]


Metric = Callable[[np.ndarray, np.ndarray], float]
METRICS = MappingProxyType({"prr": "PRR", "roc_auc": "ROC-AUC"})  # what readers call them


def prr(uncertainty: np.ndarray, quality: np.ndarray, *, max_rejection: float = 0.5) -> float:
    """Prediction rejection ratio: 1 for the best possible ranking, 0 for a random one.

    The area under the rejection curve up to the share `max_rejection`, scaled between the expected area of a random
    ranking and that of the oracle. Answers of equal uncertainty count as averaged over their orders. nan where the
    oracle is no better than a random ranking: quality is constant, or so few answers remain that none is rejected.
    Source: paper, appendix on PRR. The reference draws its random area from shuffles, and takes ties as it sorts them.
    """
    uncertainty, quality = defined(uncertainty, quality)
    curve = rejection_curve(uncertainty, quality, max_rejection=max_rejection)
    if len(curve.rejected) < 2 or is_constant(quality):
        return math.nan
    random = curve.random[0]
    return float((curve.kept_quality.mean() - random) / (curve.oracle.mean() - random))


def roc_auc(uncertainty: np.ndarray, correct: np.ndarray) -> float:
    """Probability that an incorrect answer is more uncertain than a correct one, a tie counting half.

    `correct` (A,) is 1 or 0. nan where all answers are correct or all are incorrect.

    Raises:
        InvalidInput: another number in `correct`, such as a quality without a threshold.
    """
    uncertainty, correct = defined(uncertainty, correct)
    # Ours, because scikit-learn takes 20 times as long, in each of a thousand resamples.
    check_correct(correct)
    right, wrong = (correct == 1).sum(), (correct == 0).sum()
    if right == 0 or wrong == 0:
        return math.nan
    higher = ranks(uncertainty)[correct == 0].sum() - wrong * (wrong + 1) / 2
    return float(higher / (right * wrong))


def average_precision(uncertainty: np.ndarray, found: np.ndarray) -> float:
    """Mean precision at each of the `found` (A,) items, the most uncertain first; ties share one precision.

    The share of found items is what a random order gives. nan where nothing is found.
    """
    everything = np.ones((len(uncertainty), 1), dtype=np.int32)
    return float(resampled_average_precision(uncertainty, found, everything)[0])


def resampled_average_precision(uncertainty: np.ndarray, found: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`average_precision` of each resample (R,) of `counts` (A, R); nan where nothing is found."""
    drawn, hits = _ranked(-uncertainty, found.astype(float), counts)
    precision = divided(np.cumsum(hits, axis=0), np.cumsum(drawn, axis=0))
    return divided((hits * np.nan_to_num(precision)).sum(axis=0), hits.sum(axis=0))


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of two measurements (A,) of the same answers, ties at the mean rank; nan for a constant one."""
    # Ours, because scipy.stats takes half a second to import, and twice as long in each of a thousand resamples.
    first, second = defined(first, second)
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return math.nan
    one, other = (ranks(values) - (len(values) + 1) / 2 for values in (first, second))
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (A,) of the values from 1 on, ties at their mean."""
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[groups]


def check_correct(correct: np.ndarray) -> None:
    """Require 1 or 0 for every answer.

    Raises:
        InvalidInput: another number.
    """
    others = correct[(correct != 0) & (correct != 1)]
    if len(others):
        message = f"Correctness must be 1 or 0; got {others[0]:.6g}. Apply a threshold to the quality first."
        raise InvalidInput(message)


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are one number, up to the rounding of float32."""
    return math.isclose(values.min(), values.max(), rel_tol=1e-6)


def resamples(size: int, *, count: int = 1000, seed: int = 0) -> np.ndarray:
    """Bootstrap resamples of `size` answers as indices (count, size); one array serves every paired comparison."""
    return np.random.default_rng(seed).integers(size, size=(count, size))


def bootstrap(metric: Metric, uncertainty: np.ndarray, quality: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the metric on each resample (R,) of the indices `drawn` (R, A)."""
    return np.array([metric(uncertainty[chosen], quality[chosen]) for chosen in drawn])


def interval(values: np.ndarray, *, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval that holds the share `level` of the bootstrap values; nan if all of them are."""
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    tail = (1 - level) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)


def divided(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, nan where it divides by zero."""
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.asarray(below) != 0)


_BLOCK = 100


class Bounds(NamedTuple):
    """Areas (R,) under the rejection curves of a random order and of the oracle; equal where a PRR is undefined."""

    random: np.ndarray
    oracle: np.ndarray


class _Ranked(NamedTuple):
    """T values of a ranking key, the lowest first: how many answers (T, R) of each are drawn, and their sum (T, R)."""

    drawn: np.ndarray
    total: np.ndarray


def counts_of(drawn: np.ndarray) -> np.ndarray:
    """How often each answer is drawn (A, R), from resamples as indices (R, A)."""
    count, size = drawn.shape
    places = drawn * count + np.arange(count)[:, None]
    return np.bincount(places.ravel(), minlength=size * count).reshape(size, count).astype(np.int32)


def resampled_prr(
    uncertainty: np.ndarray,
    quality: np.ndarray,
    counts: np.ndarray,
    *,
    max_rejection: float = 0.5,
    bounds: Bounds | None = None,
) -> np.ndarray:
    """`analysis.stats.prr` of each resample (R,), nan where that is undefined.

    `bounds` of all these answers save half of the time where no uncertainty is nan. An area under a rejection curve is
    a sum over the places of a ranking: the quality there, times a weight that the place alone decides. Answers of equal
    uncertainty share the weights of their places.
    """
    kept = is_defined(uncertainty, quality)
    if bounds is None or not kept.all():
        bounds = bounds_of(quality[kept], counts[kept], max_rejection=max_rejection)
    area = _in_blocks(_areas, uncertainty[kept], quality[kept], counts[kept], share=max_rejection)
    return divided(area - bounds.random, bounds.oracle - bounds.random)


def bounds_of(quality: np.ndarray, counts: np.ndarray, *, max_rejection: float = 0.5) -> Bounds:
    """The areas that a PRR lies between, of answers that all have a quality (A,)."""
    return Bounds(*_in_blocks(_bounds, quality, counts, share=max_rejection))


def resampled_roc_auc(uncertainty: np.ndarray, correct: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`analysis.stats.roc_auc` of each resample (R,), nan where all its answers are right or all are wrong.

    Raises:
        InvalidInput: a number other than 1 or 0 in `correct`.
    """
    kept = is_defined(uncertainty, correct)
    check_correct(correct[kept])
    return _in_blocks(_roc_auc, uncertainty[kept], correct[kept], counts[kept])


def _in_blocks(metric: Callable[..., np.ndarray], *values: np.ndarray, **options: float) -> np.ndarray:
    """The metric of each resample; a few at a time, since what fits the processor's cache is much faster."""
    *of_answers, counts = values
    blocks = [counts[:, at : at + _BLOCK] for at in range(0, counts.shape[1], _BLOCK)]
    return np.concatenate([metric(*of_answers, block, **options) for block in blocks], axis=-1)


def _bounds(quality: np.ndarray, counts: np.ndarray, *, share: float) -> np.ndarray:
    best = _ranked(-quality, quality, counts)
    sizes = counts.sum(axis=0)
    random = divided(best.total.sum(axis=0), sizes)
    is_undefined = (sizes * share < 2) | _is_constant(best)
    return np.stack([random, np.where(is_undefined, random, _area(best, *_place_weights(sizes, share)))])


def _areas(uncertainty: np.ndarray, quality: np.ndarray, counts: np.ndarray, *, share: float) -> np.ndarray:
    return _area(_ranked(uncertainty, quality, counts), *_place_weights(counts.sum(axis=0), share))


def _roc_auc(uncertainty: np.ndarray, correct: np.ndarray, counts: np.ndarray) -> np.ndarray:
    drawn, right = _ranked(uncertainty, correct, counts)
    wrong = drawn - right
    surer = np.cumsum(right, axis=0) - right / 2  # of a tie one half
    return divided((wrong * surer).sum(axis=0), right.sum(axis=0) * wrong.sum(axis=0))


def _ranked(key: np.ndarray, values: np.ndarray, counts: np.ndarray) -> _Ranked:
    order = np.argsort(key)
    key, drawn = key[order], counts[order]
    total = drawn * values[order][:, None]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else order
    if len(starts) < len(key):
        drawn, total = (np.add.reduceat(cells, starts, axis=0) for cells in (drawn, total))
    return _Ranked(drawn, total)


def _area(ranked: _Ranked, weights: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Mean quality (R,) of what is kept, over all shares that are rejected."""
    ends = np.cumsum(ranked.drawn, axis=0)
    reached = weights.ravel().take(ends + row * weights.shape[1])
    return (ranked.total / np.maximum(ranked.drawn, 1) * np.diff(reached, axis=0, prepend=0.0)).sum(axis=0)


def _place_weights(sizes: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the first 0, 1, 2, ... places of a ranking, a row for each of the different `sizes` (R,); whose row.

    A resample holds as many answers as are drawn of those that count, so sizes may differ.
    """
    different, row = np.unique(sizes, return_inverse=True)
    places = np.arange(1, sizes.max(initial=0) + 1)
    points = (share * different).astype(int)[:, None]
    kept = (places > different[:, None] - points) & (places <= different[:, None])  # how many are, after rejecting
    parts = np.where(kept, 1 / places, 0.0) / np.maximum(points, 1)
    of_place = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]  # a place counts wherever it is kept
    return np.cumsum(np.pad(of_place, ((0, 0), (1, 0))), axis=1), row


def _is_constant(ranked: _Ranked) -> np.ndarray:
    """Whether all that is drawn (R,) has one value, as `analysis.stats.is_constant` has it; ranked by that value."""
    if not len(ranked.drawn):
        return np.ones(ranked.drawn.shape[1], dtype=bool)
    there = ranked.drawn > 0
    ends = np.stack([there.argmax(axis=0), len(there) - 1 - there[::-1].argmax(axis=0)])
    values = np.take_along_axis(ranked.total / np.maximum(ranked.drawn, 1), ends, axis=0)
    return np.ptp(values, axis=0) <= 1e-6 * np.abs(values).max(axis=0)


_Resampled = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
_AT_ONCE: dict[Metric, _Resampled] = {prr: resampled_prr, roc_auc: resampled_roc_auc}  # faster than one by one


@dataclass(frozen=True)
class Estimate:
    """A metric with its interval (low, high), from `n` answers; nan where it is undefined, and then `reason` says why.

    `excluded` answers had no uncertainty or no quality.
    """

    value: float
    low: float
    high: float
    n: int
    excluded: int
    reason: str = ""


SMALLEST = 0.01
"""A smaller difference of PRR or ROC-AUC is never a claim, however many answers show it."""


def sign_of(difference: Estimate) -> int:
    """1 or -1 where a difference is beyond noise and large enough to be a claim; else 0."""
    return 0 if math.isnan(difference.value) or abs(difference.value) < SMALLEST else _beyond_noise(difference)


def is_slight(difference: Estimate) -> bool:
    """Whether a difference is beyond noise, but too small to be a claim."""
    return not sign_of(difference) and _beyond_noise(difference) != 0


def _beyond_noise(difference: Estimate) -> int:
    """1 or -1 where the interval of a difference lies on one side of 0; else 0."""
    return int(difference.low > 0) - int(difference.high < 0)


def estimate(
    metric: Metric,
    uncertainty: np.ndarray,
    quality: np.ndarray,
    *,
    seed: int = 0,
    count: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Return the metric of a set of answers, with the percentile interval of `count` bootstrap resamples.

    Answers without uncertainty (A,) or quality (A,) are counted and left out; so are resamples on which the metric is
    undefined, such as those of equal quality.
    """
    given = len(uncertainty)
    uncertainty, quality = defined(uncertainty, quality)
    n = len(quality)
    value = metric(uncertainty, quality) if n else math.nan
    if math.isnan(value):
        return Estimate(value, math.nan, math.nan, n, given - n, why_undefined(uncertainty, quality))
    drawn = resamples(n, count=count, seed=seed)
    low, high = interval(_resampled(metric, uncertainty, quality, drawn), level=level)
    return Estimate(value, low, high, n, given - n)


def _resampled(metric: Metric, uncertainty: np.ndarray, quality: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    at_once = _AT_ONCE.get(metric)
    return (
        at_once(uncertainty, quality, counts_of(drawn)) if at_once else bootstrap(metric, uncertainty, quality, drawn)
    )


def why_undefined(uncertainty: np.ndarray, quality: np.ndarray) -> str:
    """Say why these answers, which have both values, are not ranked by a metric."""
    n = len(quality)
    if n < 2:
        return f"{n or 'no'} answer{'s' * (n == 0)} with both an uncertainty and a quality: at least 2 are needed"
    if is_constant(quality):
        return f"all {n} answers have the same quality, {quality[0]:.3g}: ranking is undefined"
    if is_constant(uncertainty):
        return f"all {n} answers have the same uncertainty, {uncertainty[0]:.3g}: ranking is undefined"
    return f"only {n} answers: too few for rejection"


def percentile_of(uncertainties: np.ndarray, score: float) -> float:
    """Return the percentage (0 to 100) of answers that are less uncertain than a score, equal ones counting half.

    nan where the score is nan or no answer has one.
    """
    # Ours, because importing scipy.stats would delay the answer on Inspect by half a second.
    known = uncertainties[~np.isnan(uncertainties)]
    if math.isnan(score) or not len(known):
        return math.nan
    return float(100 * ((known < score).mean() + (known == score).mean() / 2))


Z = 1.959964
"""Standard errors on each side of a 95 % interval; a normal variable exceeds it in 2.5 of 100 cases."""


def student(freedom: np.ndarray) -> np.ndarray:
    """The 97.5 % quantile of Student's distribution, to .5 % from 9 degrees of freedom on (Cornish and Fisher)."""
    first, second = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    return np.asarray(Z + first / freedom + second / freedom**2)


def in_words(found: Estimate) -> str:
    """A number with its interval, or why there is none."""
    if found.reason:
        return f"undefined ({found.reason})"
    return f"{number(found.value, places=2)} [{number(found.low, places=2)}, {number(found.high, places=2)}]"
