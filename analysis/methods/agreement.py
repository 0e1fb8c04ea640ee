"""Agreement of methods: their rank correlation, and the answers on which they disagree most."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.stats import ranks, spearman


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
    there = np.array([~np.isnan(value) for value in values], dtype=int)
    correlations = np.full((len(values), len(values)), np.nan)
    for row, first in enumerate(values):
        for column, second in enumerate(values[: row + 1]):
            correlations[row, column] = correlations[column, row] = spearman(first, second)
    return MethodAgreement(methods=tuple(uncertainties), correlations=correlations, counts=there @ there.T)


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedAnswers:
    """Answers that one method ranks more uncertain than the other, the largest difference first.

    `rows` (k,) are positions among the answers given. `first` and `second` (k,): the share of answers that are at most
    as uncertain under either method, 1 for the most uncertain.
    """

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Disagreement:
    """Both sides of the disagreement, among `n` answers; `excluded` others lack one of the uncertainties."""

    first_more_uncertain: RankedAnswers
    second_more_uncertain: RankedAnswers
    n: int
    excluded: int


def disagreement(first: np.ndarray, second: np.ndarray, *, most: int = 20) -> Disagreement:
    """Compare the ranks of A answers under two uncertainties (A,): up to `most` answers on each side.

    Equal uncertainties share their mean rank; answers of equal difference keep their order.
    """
    rows = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    shares = [ranks(values[rows]) / max(len(rows), 1) for values in (first, second)]
    gap = shares[0] - shares[1]
    return Disagreement(
        first_more_uncertain=_side(rows, shares, gap, most),
        second_more_uncertain=_side(rows, shares, -gap, most),
        n=len(rows),
        excluded=len(first) - len(rows),
    )


def _side(rows: np.ndarray, shares: list[np.ndarray], gap: np.ndarray, most: int) -> RankedAnswers:
    order = np.argsort(-gap, kind="stable")
    chosen = order[gap[order] > 0][:most]
    return RankedAnswers(rows=rows[chosen], first=shares[0][chosen], second=shares[1][chosen])
