"""How much a score before the end says: of the final score, and of whether the answer is correct."""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.separation import areas_with_interval, labelled
from analysis.answer_sets.sides import Sides
from analysis.intervals import estimate
from analysis.online.curves import Curves, OnlineScore
from analysis.stats import Estimate, Intervals, roc_auc


@dataclass(frozen=True, kw_only=True)
class Point:
    """A place in every answer: after a share of its tokens, or after a number of them."""

    share: float = 0.0
    count: int = 0

    def __str__(self) -> str:
        """In words."""
        return f"{self.count} tokens" if self.count else f"{100 * self.share:.0f} % of the tokens"

    def tokens(self, lengths: np.ndarray) -> np.ndarray:
        """After how many tokens that is in answers of these lengths (A,), which may have fewer."""
        return np.full(len(lengths), self.count) if self.count else np.ceil(self.share * lengths).astype(int)


HALFWAY = Point(share=0.5)
POINTS = (Point(share=0.25), HALFWAY, Point(share=0.75), Point(count=5))


@dataclass(frozen=True, kw_only=True)
class Early:
    """What a score says at a point, in the `n` answers that go on after it; nan where they are too few.

    `median` and `high`: the median and the 95 % quantile of its distance to the final score, in standard deviations of
    the final scores. `reordered`: the share of pairs of answers whose order is another one in the end; a tie is half.
    `area`: ROC-AUC, incorrect vs correct, `final_area` that of the final score of the same answers, and `within` that
    of the score within families (K = 1).
    """

    n: int
    median: float
    high: float
    reordered: float
    area: Estimate
    final_area: Estimate
    within: Intervals


def early(curves: Curves, name: OnlineScore, point: Point) -> Early:
    """What a score says at a point."""
    tokens = point.tokens(curves.lengths)
    rows = np.flatnonzero(tokens < curves.lengths)
    now, end = (curves.values[name][rows, places[rows] - 1] for places in (tokens, curves.lengths))
    clusters, correct = curves.clusters[rows], curves.correct[rows]
    away = np.abs(now - end) / end.std() if len(rows) and end.std() > 0 else np.array([np.nan])
    return Early(
        n=len(rows),
        median=float(np.median(away)),
        high=float(np.quantile(away, 0.95)),
        reordered=reordered(now, end),
        area=estimate(roc_auc, now, correct, clusters=clusters),
        final_area=estimate(roc_auc, end, correct, clusters=clusters),
        within=_within(now, curves, rows),
    )


def reordered(first: np.ndarray, second: np.ndarray) -> float:
    """The share of pairs that two scores (n,) put in another order, a tie in either being half; nan without a pair."""
    above = np.triu_indices(len(first), k=1)
    signs = [np.sign(values[:, None] - values)[above] for values in (first, second)]
    return float((1 - signs[0] * signs[1]).mean() / 2) if len(above[0]) else float("nan")


def _within(values: np.ndarray, curves: Curves, rows: np.ndarray) -> Intervals:
    correct, groups = curves.correct[rows], np.array(curves.groups, dtype=object)[rows]
    counted = labelled(values[:, None], Sides(correct == 1, correct == 0), groups, clusters=curves.clusters[rows])
    return areas_with_interval(-values[:, None], counted)
