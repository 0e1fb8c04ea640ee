"""Do methods distrust the same answers? Rank correlation between their uncertainties."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.metrics import spearman


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodAgreement:
    """Spearman's correlation (M, M) of the uncertainties of M methods, by id, over the `counts` (M, M) that have both.

    nan where fewer than two answers have both, or all have the same uncertainty.
    """

    methods: tuple[str, ...]
    correlations: np.ndarray
    counts: np.ndarray


def method_agreement(uncertainties: Mapping[str, np.ndarray]) -> MethodAgreement:
    """Correlate the uncertainties (n,) of the same answers, each with each."""
    values = list(uncertainties.values())
    there = np.array([~np.isnan(one) for one in values], dtype=int)
    correlations = np.full((len(values), len(values)), np.nan)
    for row, first in enumerate(values):
        for column, second in enumerate(values[: row + 1]):
            correlations[row, column] = correlations[column, row] = spearman(first, second)
    return MethodAgreement(methods=tuple(uncertainties), correlations=correlations, counts=there @ there.T)
