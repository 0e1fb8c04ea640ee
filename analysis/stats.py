"""Numbers about a set of answers: how well an uncertainty ranks them, on how many answers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rauq.errors import InvalidInput
from rauq.labels import number


@dataclass(frozen=True, eq=False)
class Intervals:
    """K values, and the ends of their 95 % intervals; nan where undefined."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


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
    # Written here, because scikit-learn takes 20 times as long.
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
    if not found.any():
        return math.nan
    return float(precisions(uncertainty, found)[found.astype(bool)].mean())


def precisions(uncertainty: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The share of found items (A,) among those that are at least as uncertain as each item."""
    order = np.argsort(-uncertainty)
    ranked = -uncertainty[order]
    last = np.searchsorted(ranked, ranked, side="right")  # of the items that tie with it
    share = np.empty(len(order))
    share[order] = np.cumsum(found[order])[last - 1] / last
    return share


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of two measurements (A,) of the same answers, ties at the mean rank; nan for a constant one."""
    # Written here, because scipy.stats takes half a second to import.
    first, second = defined(first, second)
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return math.nan
    one, other = (centred_ranks(values) for values in (first, second))
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def pearson(first: np.ndarray, second: np.ndarray) -> float:
    """Linear correlation of two measurements (A,) of the same answers; nan for a constant one."""
    first, second = defined(first, second)
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return math.nan
    deviations = [values - values.mean() for values in (first, second)]
    return float(
        deviations[0] @ deviations[1] / math.sqrt(math.prod(deviation @ deviation for deviation in deviations))
    )


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (A,) of the values from 1 on, ties at their mean."""
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[groups]


def centred_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (A,) of the values, the middle one being 0."""
    return np.asarray(ranks(values) - (len(values) + 1) / 2)


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


def divided(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, nan where it divides by zero."""
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.asarray(below) != 0)


@dataclass(frozen=True)
class Estimate:
    """A metric with its 95 % interval (low, high), from `n` answers; nan where it is undefined, `reason` says why.

    `excluded` answers had no uncertainty or no quality. `no_interval` says why a value has no interval, which is then
    nan: it would hold the truth less often than an interval of 95 % promises.
    """

    value: float
    low: float
    high: float
    n: int
    excluded: int
    reason: str = ""
    no_interval: str = ""

    @property
    def missing(self) -> dict[str, str]:
        """Why numbers are missing, by the name of a column in tables."""
        return {"undefined": self.reason, "no interval": self.no_interval}


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
    # Written here, because importing scipy.stats would delay the answer on Inspect by half a second.
    known = uncertainties[~np.isnan(uncertainties)]
    if math.isnan(score) or not len(known):
        return math.nan
    return float(100 * ((known < score).mean() + (known == score).mean() / 2))


Z = 1.959964
"""Standard errors on each side of a 95 % interval; a normal variable exceeds it in 2.5 of 100 cases."""


def student(freedom: np.ndarray) -> np.ndarray:
    """The 97.5 % quantile of Student's distribution, to .5 % from 4 degrees of freedom on (Cornish and Fisher)."""
    first, second = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    third = (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384
    return np.asarray(Z + first / freedom + second / freedom**2 + third / freedom**3)


def in_words(estimate: Estimate) -> str:
    """A number with its interval, or why one of them is missing."""
    if estimate.reason:
        return f"undefined ({estimate.reason})"
    if estimate.no_interval:
        return f"{number(estimate.value, places=2)} (no interval: {estimate.no_interval})"
    return f"{number(estimate.value, places=2)} [{number(estimate.low, places=2)}, {number(estimate.high, places=2)}]"
