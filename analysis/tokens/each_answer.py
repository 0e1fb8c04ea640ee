"""ROC-AUC and average precision of every answer by itself, all answers at once: those of `analysis.stats`."""

from typing import NamedTuple

import numpy as np

from analysis.stats import divided


def roc_auc_of_each(uncertainty: np.ndarray, correct: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """`analysis.stats.roc_auc` of the tokens (T,) of each answer (A,), in the order of their numbers in `answer` (T,).

    `correct` (T,) is 1 or 0. nan where an answer has no correct or no incorrect token.
    """
    own = _ranked(uncertainty, answer)
    wrong = (correct == 0)[own.order]
    size, incorrect = np.bincount(own.answer), np.bincount(own.answer, wrong)
    rank = size[own.answer] - (own.first + own.last - 1) / 2  # from 1 on, the lowest first, ties at their mean
    higher = np.bincount(own.answer, rank * wrong) - incorrect * (incorrect + 1) / 2
    return divided(higher, incorrect * (size - incorrect))


def average_precision_of_each(uncertainty: np.ndarray, found: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """`analysis.stats.average_precision` of the tokens (T,) of each answer (A,); nan where nothing is `found` (T,)."""
    own = _ranked(uncertainty, answer)
    hit = found[own.order].astype(float)
    so_far = np.append(0.0, np.cumsum(hit))
    precision = (so_far[own.start + own.last] - so_far[own.start]) / own.last
    return divided(np.bincount(own.answer, precision * hit), np.bincount(own.answer, hit))


class _Ranked(NamedTuple):
    """T tokens by answer, in each the highest value first.

    `answer` (T,) numbers the answers from 0 on, and `start` is the first row of each token's answer. A token ties with
    those from `first` to before `last` of its answer.
    """

    order: np.ndarray
    answer: np.ndarray
    start: np.ndarray
    first: np.ndarray
    last: np.ndarray


def _ranked(values: np.ndarray, answer: np.ndarray) -> _Ranked:
    number = np.unique(answer, return_inverse=True)[1]
    order = np.lexsort((-values, number))
    number, values = number[order], values[order]
    begins = np.diff(number, prepend=-1) > 0
    ties = begins | np.append(True, values[1:] != values[:-1])[: len(values)]
    bounds = np.append(np.flatnonzero(ties), len(values))
    start, tie = np.flatnonzero(begins)[number], np.cumsum(ties) - 1
    return _Ranked(order, number, start, bounds[tie] - start, bounds[tie + 1] - start)
