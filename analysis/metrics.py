"""How well an uncertainty ranks answers: rejection and ROC curves, and bootstrap intervals.

In every function `uncertainty` (A,) is higher where an answer is less to be trusted, and `quality` (A,) is higher where
it is better. A pair with a nan in it is left out; infinities rank at the ends.
"""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score

Metric = Callable[[np.ndarray, np.ndarray], float]


def prr(uncertainty: np.ndarray, quality: np.ndarray, *, max_rejection: float = 0.5) -> float:
    """Prediction rejection ratio: 1 for the best possible ranking, 0 for a random one.

    The area under the mean quality of the answers that are kept, as the most uncertain are rejected one by one up to
    the share `max_rejection`, scaled between the expected area of a random ranking and that of the oracle. Answers of
    equal uncertainty count as averaged over their orders. nan where the oracle is no better than a random ranking:
    quality is constant, or so few answers remain that none is rejected.
    """
    uncertainty, quality = _defined(uncertainty, quality)
    rejected = int(max_rejection * len(quality))
    if rejected < 2 or np.ptp(quality) == 0:  # the first term of the area rejects nothing
        return float("nan")
    random = float(quality.mean())  # every prefix of a random order has this expectation
    oracle = _kept_area(-quality, quality, rejected)
    return (_kept_area(uncertainty, quality, rejected) - random) / (oracle - random)


def roc_auc(uncertainty: np.ndarray, correct: np.ndarray) -> float:
    """Chance that a wrong answer is more uncertain than a right one; nan where all are right or all wrong."""
    uncertainty, correct = _defined(uncertainty, correct)
    if len(set(correct.tolist())) < 2:
        return float("nan")
    _, ranks = np.unique(uncertainty, return_inverse=True)  # the library refuses infinities
    return float(roc_auc_score(1 - correct, ranks))


def resamples(size: int, *, count: int = 1000, seed: int = 0) -> np.ndarray:
    """Bootstrap resamples of `size` answers as indices (count, size); one array serves every paired comparison."""
    return np.random.default_rng(seed).integers(size, size=(count, size))


def bootstrap(metric: Metric, uncertainty: np.ndarray, quality: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the metric on each resample (R,) of the indices `drawn` (R, A)."""
    return np.array([metric(uncertainty[chosen], quality[chosen]) for chosen in drawn])


def interval(values: np.ndarray, *, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval of bootstrap values that holds the share `level` of them."""
    tail = (1 - level) / 2
    low, high = np.nanquantile(values, (tail, 1 - tail))
    return float(low), float(high)


def _defined(uncertainty: np.ndarray, quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    uncertainty, quality = np.asarray(uncertainty, dtype=float), np.asarray(quality, dtype=float)
    kept = ~(np.isnan(uncertainty) | np.isnan(quality))
    return uncertainty[kept], quality[kept]


def _kept_area(uncertainty: np.ndarray, quality: np.ndarray, rejected: int) -> float:
    """Mean, over 0 to `rejected` - 1 rejections, of the mean quality of the answers that are kept."""
    _, groups, sizes = np.unique(uncertainty, return_inverse=True, return_counts=True)
    tied = np.bincount(groups, quality) / sizes  # ties: each place holds the mean of its group
    kept = np.cumsum(np.repeat(tied, sizes)) / np.arange(1, len(quality) + 1)
    return float(kept[-rejected:].mean())
