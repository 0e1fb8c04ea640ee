"""How far attention in correct answers lies above attention in incorrect ones (paper, figures 3a and 3c)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from analysis.answer_sets.clusters import LEAST_FOR_INTERVAL, clusters_or_own, error_by_cluster, num_clusters
from analysis.answer_sets.heads import of_selected
from analysis.answer_sets.sides import Sides
from analysis.stats import Intervals, divided
from rauq.errors import InvalidInput

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LEAST = 20  # answers of either side: fewer give intervals too wide to draw beside others


@dataclass(frozen=True, eq=False)
class Side:
    """The answers of one side in each of K columns: how many there are (K,), their mean (K,) and quantiles (5, K)."""

    count: np.ndarray
    mean: np.ndarray
    quantiles: np.ndarray

    def at(self, columns: np.ndarray) -> "Side":
        """The same in some of the columns."""
        return Side(self.count[columns], self.mean[columns], self.quantiles[:, columns])


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaps:
    """Attention of A answers in K columns, which are layers or offsets, and how its sides differ.

    `absolute` is the mean of correct answers minus that of incorrect ones; `percent` is this difference in percent of
    the mean of incorrect answers. `reasons` says for each column what is undefined and why; "" where nothing is.
    """

    values: np.ndarray
    sides: Sides
    correct: Side
    incorrect: Side
    absolute: Intervals
    percent: Intervals
    reasons: tuple[str, ...]

    def at(self, columns: np.ndarray) -> "Gaps":
        """The same in some of the columns, by their positions."""
        return replace(
            self,
            values=self.values[:, columns],
            correct=self.correct.at(columns),
            incorrect=self.incorrect.at(columns),
            absolute=_at(self.absolute, columns),
            percent=_at(self.percent, columns),
            reasons=tuple(self.reasons[column] for column in columns),
        )


def _at(intervals: Intervals, columns: np.ndarray) -> Intervals:
    return Intervals(intervals.value[columns], intervals.low[columns], intervals.high[columns])


@dataclass(frozen=True, eq=False)
class HeadGaps:
    """The gaps of the head that each answer picked, and those of the mean over all heads."""

    picked: Gaps
    mean: Gaps

    def at(self, columns: np.ndarray) -> "HeadGaps":
        """The same in some of the columns, by their positions."""
        return HeadGaps(self.picked.at(columns), self.mean.at(columns))


class Enough(NamedTuple):
    """The gaps of the distances that enough answers of either side have, those distances, and the other ones."""

    gaps: HeadGaps
    shown: tuple[int, ...]
    hidden: tuple[int, ...]

    @property
    def significant(self) -> tuple[int, ...]:
        """The distances at which the interval of the selected head's gap excludes 0."""
        found = self.gaps.picked.absolute
        ends = zip(self.shown, found.low, found.high, strict=True)
        return tuple(distance for distance, low, high in ends if low > 0 or high < 0)


def with_enough(gaps: HeadGaps, distances: Sequence[int]) -> Enough:
    """The distances with at least LEAST correct and LEAST incorrect answers; `distances` name the columns (K,)."""
    enough = np.minimum(gaps.picked.correct.count, gaps.picked.incorrect.count) >= LEAST
    shown, hidden = (tuple(np.asarray(distances)[mask].tolist()) for mask in (enough, ~enough))
    return Enough(gaps.at(np.flatnonzero(enough)), shown, hidden)


def head_gaps(means: np.ndarray, picks: np.ndarray, sides: Sides, *, clusters: np.ndarray | None = None) -> HeadGaps:
    """The gaps in each layer, out of the heads' mean attention `means` (A, L, H) and the selected heads `picks` (A, L).

    The picks are those of the whole answer, whichever tokens `means` are taken over, as RAUQ picks.
    """
    return HeadGaps(*(gaps(one, sides, clusters=clusters) for one in (of_selected(means, picks), means.mean(axis=-1))))


def gaps(values: np.ndarray, sides: Sides, *, clusters: np.ndarray | None = None) -> Gaps:
    """The gap in each column of `values` (A, K), with intervals by question, of which `clusters` (A,) are the labels.

    An answer counts in the columns where its value is defined. The interval of the percentage is that of the logarithm
    of the ratio of the means.

    Raises:
        InvalidInput: values and sides of different answers.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or len(values) != len(sides.correct):
        message = (
            f"values are {values.shape}; give one row for each of the {len(sides.correct)} answers that have a side."
        )
        raise InvalidInput(message)
    correct, incorrect = _side(values[sides.correct]), _side(values[sides.incorrect])
    cluster, there = clusters_or_own(clusters, len(values)), np.isfinite(values)
    num = num_clusters(cluster, sides, there)
    parts = _parts(values, sides.correct, correct), _parts(values, sides.incorrect, incorrect)
    absolute = error_by_cluster(parts[0] - parts[1], cluster, num)
    difference, ratio = correct.mean - incorrect.mean, divided(correct.mean, incorrect.mean)
    relative = divided(parts[0], correct.mean + 0 * parts[0]) - divided(parts[1], incorrect.mean + 0 * parts[1])
    factor = np.exp(error_by_cluster(relative, cluster, num))
    return Gaps(
        values=values,
        sides=sides,
        correct=correct,
        incorrect=incorrect,
        absolute=Intervals(difference, difference - absolute, difference + absolute),
        percent=Intervals(*(100 * (one - 1) for one in (ratio, ratio / factor, ratio * factor))),
        reasons=tuple(map(_reason, correct.count, incorrect.count, incorrect.mean, num)),
    )


def _parts(values: np.ndarray, mask: np.ndarray, side: Side) -> np.ndarray:
    """What each answer of a side, in `mask` (A,), adds to the error of its mean in each column: (A, K)."""
    excess = np.where(mask[:, None] & np.isfinite(values), values - side.mean, 0.0)
    return excess / np.sqrt(np.maximum(side.count * (side.count - 1.0), 1.0))


def _side(values: np.ndarray) -> Side:
    count = np.isfinite(values).sum(axis=0)
    quantiles = np.full((len(QUANTILES), values.shape[1]), np.nan)
    if (defined := count > 0).any():
        quantiles[:, defined] = np.nanquantile(values[:, defined], QUANTILES, axis=0)
    return Side(count, divided(np.nansum(values, axis=0), count), quantiles)


def _reason(num_correct: int, num_incorrect: int, incorrect_mean: float, num_questions: int) -> str:
    missing = [side for side, count in (("correct", num_correct), ("incorrect", num_incorrect)) if not count]
    if missing:
        return f"no {' and no '.join(missing)} answer has attention here"
    if not incorrect_mean:
        return "the mean of incorrect answers is 0, so the percentage is undefined"
    if num_questions < LEAST_FOR_INTERVAL:
        return (
            f"too few questions for an interval: {LEAST_FOR_INTERVAL} with a correct answer and {LEAST_FOR_INTERVAL} "
            "with an incorrect one are needed"
        )
    return ""
