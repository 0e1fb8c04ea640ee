"""How strongly quality goes with attention, as two numbers (paper, figure 3b)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.estimate import Estimate, estimate
from analysis.metrics import is_constant, spearman
from analysis.rejection import defined


@dataclass(frozen=True)
class Correlations:
    """Correlation of ranks (Spearman) and of the values themselves (Pearson), from -1 to 1, with intervals."""

    spearman: Estimate
    pearson: Estimate


def correlations(values: np.ndarray, quality: np.ndarray, *, resamples: int = 1000, seed: int = 0) -> Correlations:
    """Correlate `values` (A,) with `quality` (A,); answers that lack one of them are left out and counted."""
    found = [estimate(metric, values, quality, seed=seed, count=resamples) for metric in (spearman, pearson)]
    return Correlations(*(replace(one, reason=_reason(values, quality) if one.reason else "") for one in found))


def pearson(first: np.ndarray, second: np.ndarray) -> float:
    """Linear correlation of two measurements (A,) of the same answers; nan if one is constant."""
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
