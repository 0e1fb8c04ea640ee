"""ROC-AUC of several scores of the same items, with intervals by bootstrap: whole questions are drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.answer_sets.separation import areas, labelled
from analysis.answer_sets.sides import Sides

RESAMPLES = 1000
_ENDS = (0.025, 0.975)


class Interval(NamedTuple):
    """A value with the ends of its 95 % interval; nan where it is undefined."""

    value: float
    low: float
    high: float


def resampled(values: np.ndarray, correct: np.ndarray, groups: Sequence[str], question: np.ndarray) -> np.ndarray:
    """How well higher values (A, K) find the items that are not `correct` (A,), as a mean within groups: (1 + R, K).

    The first row is of all items, and each other one of as many questions, drawn with replacement. Items without one of
    the values are left out of all.
    """
    group = np.asarray(groups, dtype=object)
    _, number = np.unique(question, return_inverse=True)
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    rng = np.random.default_rng(0)
    draws = rng.integers(len(members), size=(RESAMPLES, len(members)))

    def of(rows: np.ndarray) -> np.ndarray:
        sides = Sides(correct[rows], ~correct[rows])
        return areas(-values[rows], labelled(values[rows], sides, group[rows]))

    drawn = (np.concatenate([members[place] for place in places]) for places in draws)
    return np.stack([of(np.arange(len(values))), *map(of, drawn)])


def intervals(found: np.ndarray) -> list[Interval]:
    """The K values of the first row, with intervals by the others (1 + R, K); those that are nan are left out."""
    known = [column[np.isfinite(column)] for column in found[1:].T]
    ends = [np.quantile(column, _ENDS) if len(column) else (np.nan, np.nan) for column in known]
    return [Interval(float(value), float(low), float(high)) for value, (low, high) in zip(found[0], ends, strict=True)]
