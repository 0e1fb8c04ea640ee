"""One number about a set of answers, how sure it is, and on how many answers it stands."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.metrics import Metric, bootstrap, interval, is_constant, prr, resamples, roc_auc
from analysis.rejection import defined
from analysis.resampled import counts_of, resampled_prr, resampled_roc_auc
from rauq.labels import number

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
        return f"all {n} answers have the same quality, {quality[0]:.3g}: nothing tells good from bad"
    if is_constant(uncertainty):
        return f"all {n} answers have the same uncertainty, {uncertainty[0]:.3g}: it ranks nothing"
    return f"only {n} answers: too few for one to be rejected"


def in_words(found: Estimate) -> str:
    """A number with its interval, or why there is none."""
    if found.reason:
        return f"undefined ({found.reason})"
    return f"{number(found.value, places=2)} [{number(found.low, places=2)}, {number(found.high, places=2)}]"
