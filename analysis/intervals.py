"""Intervals of metrics by question: how far a value may be off, and where that cannot be said.

An interval of 95 % that is shown holds the truth in at least 90 of 100 cases; `python -m benchmarks coverage` counts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from analysis.influence import (
    mean_influence,
    pearson_influence,
    precision_influence,
    prr_influence,
    roc_auc_influence,
    spearman_influence,
)
from analysis.stats import (
    Estimate,
    Metric,
    average_precision,
    defined,
    is_defined,
    pearson,
    prr,
    roc_auc,
    spearman,
    student,
    why_undefined,
)

LEAST = 5
"""Questions with an answer of the rarer kind, correct or incorrect: with fewer, a metric has no interval."""

_LEAST_FREEDOM = 2  # of a mean over groups: with less, a single group with few answers decides
_ADDED = 0.5  # answers at chance: without them, a ranking that is perfect on few answers seems to be certainly perfect


@dataclass(frozen=True)
class Scale:
    """Where values of a metric lie: at `chance` for random ranks, and from `low` to `high`, if it is bounded there."""

    chance: float
    low: float
    high: float
    is_bounded: bool = True

    def squared_step(self, value: float) -> float:
        """The square of how far one answer at chance is from a value, in units of the metric.

        In a good ranking that is its distance from chance; in a random one, the variance of numbers between the bounds.
        """
        far = min(abs(value - self.chance) / (self.high - self.chance), 1.0)
        return (value - self.chance) ** 2 + (1 - far**2) * (self.high - self.low) ** 2 / 12

    @property
    def of_differences(self) -> "Scale":
        """Where differences of two such values lie."""
        half = (self.high - self.low) / 2
        return Scale(0.0, -half, half, is_bounded=False)


@dataclass(frozen=True)
class Spread:
    """How far a value may be off: its standard `error`, and the answers and degrees of freedom that this rests on.

    `careful`: the error with half an answer at chance added. `rarer`: how many questions have an answer of the rarer
    kind, correct or incorrect. `questions`: as many for quality of 1 or 0; for graded quality all of them.
    """

    error: float
    careful: float
    rarer: float
    questions: float
    freedom: float
    scale: Scale

    @property
    def is_known(self) -> bool:
        """Whether there are enough answers of either kind for an interval."""
        return self.rarer >= LEAST and self.freedom >= _LEAST_FREEDOM


@dataclass(frozen=True, eq=False)
class Answers:
    """What n answers are ranked against: their `truth` (n,), 1 or 0 or a graded quality, and their `cluster` (n,).

    Answers of one cluster are answers to one question, or to near-duplicates of it.
    """

    truth: np.ndarray
    cluster: np.ndarray

    def among(self, kept: np.ndarray) -> "Answers":
        """Those of the answers that are `kept` (n,)."""
        return self if kept.all() else Answers(self.truth[kept], self.cluster[kept])


def rarer_side(of: Answers) -> float:
    """How many questions have an answer of the rarer kind.

    For graded quality: as many as for answers of 1 or 0 with the same variance, if the one farthest from the mean is 1.
    A few answers that carry most of the variance therefore count as few.
    """
    values = np.unique(of.truth)
    if len(values) == 2:
        return float(min(len(np.unique(of.cluster[of.truth == value])) for value in values))
    apart = (of.truth - of.truth.mean()) ** 2
    share = float(apart.mean() / apart.max()) if apart.any() else 0.0
    return len(np.unique(of.cluster)) * share / (1 + share)


def spread_of(value: float, influence: np.ndarray, of: Answers, scale: Scale) -> Spread:
    """The spread of a value, from what each answer adds to its error (n,), summed by question."""
    rarer, is_graded = rarer_side(of), len(np.unique(of.truth)) > 2
    questions = len(np.unique(of.cluster)) if is_graded else rarer
    return _spread(value, influence, of.cluster, (rarer, questions), scale)


def _spread(
    value: float, influence: np.ndarray, cluster: np.ndarray, counts: tuple[float, float], scale: Scale
) -> Spread:
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1].reshape(-1), influence)
    variance = float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)
    rarer, questions = counts
    added = _ADDED * scale.squared_step(value)
    careful = math.sqrt(variance * questions**2 + added) / (questions + _ADDED)
    return Spread(math.sqrt(variance), careful, rarer, questions, max(questions - 1, 1.0), scale)


def mean_spread(several: Sequence[Spread]) -> Spread:
    """The spread of the mean of values that are independent of one another (Satterthwaite's degrees of freedom)."""
    variances = np.array([one.careful**2 for one in several])
    total, scales = float(variances.sum()), [one.scale for one in several]
    return Spread(
        error=math.sqrt(sum(one.error**2 for one in several)) / len(several),
        careful=math.sqrt(total) / len(several),
        rarer=sum(one.rarer for one in several),
        questions=sum(one.questions for one in several),
        freedom=total**2 / float((variances**2 / np.array([one.freedom for one in several])).sum()),
        scale=Scale(
            chance=float(np.mean([scale.chance for scale in scales])),
            low=float(np.mean([scale.low for scale in scales])),
            high=float(np.mean([scale.high for scale in scales])),
            is_bounded=all(scale.is_bounded for scale in scales),
        ),
    )


def ends(value: float, spread: Spread) -> tuple[float, float]:
    """The ends of the 95 % interval of a value; nan where they are not known.

    A bounded value has the interval on the scale of log-odds between its bounds, with half an answer at chance added,
    as Agresti and Coull (1998) add answers to a proportion. The end away from chance is no nearer than without it.
    """
    if not spread.is_known:
        return math.nan, math.nan
    scale, quantile = spread.scale, float(student(np.array(spread.freedom)))
    centre = scale.chance + (value - scale.chance) * spread.questions / (spread.questions + _ADDED)
    low, high = _around(centre, quantile * spread.careful, scale)
    lower, higher = _around(value, quantile * spread.error, scale)
    return (min(low, value), max(high, higher)) if value >= scale.chance else (min(low, lower), max(high, value))


_MOST = 50.0  # in log-odds: beyond, an end is a bound


def _around(value: float, half: float, scale: Scale) -> tuple[float, float]:
    if not scale.is_bounded:
        return value - half, value + half
    width = scale.high - scale.low
    place = (value - scale.low) / width
    if not 0 < place < 1:
        return value, value
    odds, step = place / (1 - place), math.exp(min(half / width / (place * (1 - place)), _MOST))
    low, high = (scale.low + width * own / (1 + own) for own in (odds / step, odds * step))
    return low, high


_Influence = Callable[[np.ndarray, np.ndarray], np.ndarray]
_INFLUENCES: MappingProxyType[Metric, _Influence] = MappingProxyType(
    {
        prr: prr_influence,
        roc_auc: roc_auc_influence,
        average_precision: precision_influence,
        spearman: spearman_influence,
        pearson: pearson_influence,
    }
)


def influence_of(metric: Metric, uncertainty: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """What each of n answers, all of them defined, adds to the error of a metric that is defined (n,)."""
    return _INFLUENCES[metric](uncertainty, truth)


def scale_of(metric: Metric, truth: np.ndarray) -> Scale:
    """Where values of a metric lie for answers of this truth (n,); the lowest PRR is that of the worst ranking."""
    if metric is roc_auc:
        return Scale(0.5, 0.0, 1.0)
    if metric is average_precision:
        return Scale(float(truth.mean()), 0.0, 1.0)
    return Scale(0.0, prr(truth, truth) if metric is prr else -1.0, 1.0)


def estimate(
    metric: Metric, uncertainty: np.ndarray, quality: np.ndarray, *, clusters: np.ndarray | None = None
) -> Estimate:
    """Return the metric of a set of answers, with its interval by question, or why one of them is missing.

    Answers without uncertainty (A,) or quality (A,) are counted and left out. `clusters` (A,): answers to one question
    have one label; None: each answers a question of its own.
    """
    kept = is_defined(uncertainty, quality)
    excluded, (uncertainty, quality) = int((~kept).sum()), defined(uncertainty, quality)
    n = len(quality)
    value = metric(uncertainty, quality) if n else math.nan
    if math.isnan(value):
        return Estimate(value, math.nan, math.nan, n, excluded, why_undefined(uncertainty, quality))
    of = Answers(quality, np.arange(n) if clusters is None else clusters[kept])
    spread = spread_of(value, influence_of(metric, uncertainty, quality), of, scale_of(metric, quality))
    return Estimate(value, *ends(value, spread), n, excluded, no_interval="" if spread.is_known else too_few(of))


def mean_estimate(values: np.ndarray, clusters: np.ndarray, *, scale: Scale) -> Estimate:
    """The mean of the values (A,) of answers, nan left out, with its interval by question (`clusters`, A)."""
    kept = np.isfinite(values)
    n, excluded = int(kept.sum()), int((~kept).sum())
    if not n:
        return Estimate(math.nan, math.nan, math.nan, 0, excluded, "no answer has a value")
    value, count = float(values[kept].mean()), len(np.unique(clusters[kept]))
    spread = _spread(value, mean_influence(values[kept]), clusters[kept], (count, count), scale)
    few = "" if spread.is_known else f"{count} question{'s are' if count > 1 else ' is'} too few"
    return Estimate(value, *ends(value, spread), n, excluded, no_interval=few)


def too_few(of: Answers) -> str:
    """Say why a metric of these answers has no interval."""
    values = np.unique(of.truth)
    if len(values) != 2:
        return "a few answers carry most of the variance of quality"
    sides = [of.truth == value for value in values]
    questions = [len(np.unique(of.cluster[side])) for side in sides]
    rarer = int(np.argmin(questions))
    count, names = (
        int(sides[rarer].sum()),
        ("incorrect", "correct") if set(values) == {0.0, 1.0} else ("worse", "better"),
    )
    asked = "" if count == questions[rarer] else f" to {questions[rarer]} question{'s' * (questions[rarer] > 1)}"
    return f"{count} {names[rarer]} answer{'s' * (count > 1)}{asked} {'are' if count > 1 else 'is'} too few"
