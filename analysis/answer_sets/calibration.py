"""What a score means in a set of answers: the share that is correct at that score, and the score's percentile.

A share is an observation on this set, not a probability elsewhere.
"""

import math
from dataclasses import dataclass

import numpy as np

from analysis.stats import check_correct, defined, resamples

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
