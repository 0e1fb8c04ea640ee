"""How well an uncertainty ranks answers: PRR, ROC-AUC and rank correlation, and bootstrap intervals.

In every function `uncertainty` (A,) is higher where an answer is less to be trusted, and `quality` (A,) is higher where
it is better. A pair with a nan in it is left out; infinite uncertainties rank at the ends.
"""

import math
from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from analysis.rejection import defined, rejection_curve
from rauq.errors import InvalidInput

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
    """Chance that a wrong answer is more uncertain than a right one, a tie counting half.

    `correct` (A,) is 1 or 0. nan where all answers are right or all are wrong.

    Raises:
        InvalidInput: another number in `correct`, such as a quality that no threshold was put to.
    """
    uncertainty, correct = defined(uncertainty, correct)
    check_correct(correct)
    right, wrong = (correct == 1).sum(), (correct == 0).sum()
    if right == 0 or wrong == 0:
        return math.nan
    higher = ranks(uncertainty)[correct == 0].sum() - wrong * (wrong + 1) / 2
    return float(higher / (right * wrong))


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of two measurements (A,) of the same answers, ties at the mean rank; nan for a constant one."""
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
        message = f"Whether an answer is correct is 1 or 0, got {others[0]:.6g}: put a threshold to the quality first."
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
