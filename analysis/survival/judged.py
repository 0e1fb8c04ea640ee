"""ROC-AUC of signals and their differences: among all answers or those of a fold, or the mean over answers of tokens.

Within an answer, its tokens are compared with each other, so that answers are the units: an interval from pairs of
tokens would count what one answer adds to both sides of a pair twice.
"""

import math
from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.separation import (
    Labelled,
    area_estimate,
    areas,
    centred_ranks,
    difference_of_areas,
    labelled,
)
from analysis.intervals import Scale, mean_estimate
from analysis.stats import Estimate
from analysis.survival.labelled import LabelledUnits

_AREA, _DIFFERENCE = Scale(0.5, 0.0, 1.0), Scale(0.0, -1.0, 1.0)


def area(values: np.ndarray, given: LabelledUnits, strata: Sequence[str] | np.ndarray | None = None) -> Estimate:
    """ROC-AUC of values (U,), higher where incorrect, among all units or within strata."""
    names = ["all"] * len(values) if strata is None else strata
    return area_estimate(-values, labelled(values, given.sides, names, clusters=given.clusters))


def area_within(values: np.ndarray, given: LabelledUnits, fold: np.ndarray) -> Estimate:
    """ROC-AUC of values (U,) of fits: among answers of one fold (U,), or the mean over answers of their tokens."""
    counted = _compared(values[:, None], given, fold)
    if not given.is_of_tokens:
        return area_estimate(-values, counted)
    if counted.reason:
        return Estimate(math.nan, math.nan, math.nan, 0, counted.excluded, counted.reason)
    return _mean(_by_answer(values[:, None], counted)[:, 0], counted, _AREA)


def mean_areas(values: np.ndarray, given: LabelledUnits, fold: np.ndarray) -> np.ndarray:
    """The ROC-AUC (K,) of `area_within` for each column of values (U, K), which every unit has."""
    counted = _compared(values, given, fold)
    if counted.reason or not given.is_of_tokens:
        return areas(-values, counted)
    return np.asarray(_by_answer(values, counted).mean(axis=0))


def difference_within(first: np.ndarray, second: np.ndarray, given: LabelledUnits, fold: np.ndarray) -> Estimate:
    """The ROC-AUC of `area_within` of `first` (U, K) minus that of `second` (U, M), means over their columns."""
    counted = _compared(np.column_stack([first, second]), given, fold)
    if not given.is_of_tokens:
        return difference_of_areas(-first, -second, counted)
    if counted.reason:
        return Estimate(math.nan, math.nan, math.nan, 0, counted.excluded, counted.reason)
    one, other = (_by_answer(values, counted).mean(axis=1) for values in (first, second))
    return _mean(one - other, counted, _DIFFERENCE)


def _compared(values: np.ndarray, given: LabelledUnits, fold: np.ndarray) -> Labelled:
    """What is compared: answers of one fold, or tokens of one answer."""
    strata = given.answer if given.is_of_tokens else fold
    return labelled(values, given.sides, strata.astype(str), clusters=given.clusters)


def _by_answer(values: np.ndarray, counted: Labelled) -> np.ndarray:
    """ROC-AUC (A, K) of columns of values (U, K) within each answer that has correct and incorrect tokens."""
    size, correct = np.bincount(counted.group), np.bincount(counted.group, counted.correct)
    ranked = centred_ranks(-values[counted.rows], counted.group)[counted.correct]
    sums = np.array([np.bincount(counted.group[counted.correct], column, len(size)) for column in ranked.T]).T
    return np.asarray(0.5 + sums * ((size + 1) / (correct * (size - correct)))[:, None])


def _mean(each: np.ndarray, counted: Labelled, scale: Scale) -> Estimate:
    cluster = np.zeros(len(each), dtype=np.int64)
    cluster[counted.group] = counted.cluster
    return mean_estimate(each, cluster, scale=scale)
