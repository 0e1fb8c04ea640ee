"""How far attention in correct answers lies above attention in incorrect ones (paper, figures 3a and 3c)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from analysis.answer_sets.heads import of_selected
from analysis.answer_sets.sides import Sides
from analysis.stats import Intervals, divided, draw_counts, resampled_means, with_interval
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


def _at(found: Intervals, columns: np.ndarray) -> Intervals:
    return Intervals(found.value[columns], found.low[columns], found.high[columns])


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


def with_enough(gaps: HeadGaps, distances: Sequence[int]) -> Enough:
    """The distances with at least LEAST correct and LEAST incorrect answers; `distances` name the columns (K,)."""
    enough = np.minimum(gaps.picked.correct.count, gaps.picked.incorrect.count) >= LEAST
    shown, hidden = (tuple(np.asarray(distances)[mask].tolist()) for mask in (enough, ~enough))
    return Enough(gaps.at(np.flatnonzero(enough)), shown, hidden)


def head_gaps(means: np.ndarray, picks: np.ndarray, sides: Sides, *, resamples: int = 1000, seed: int = 0) -> HeadGaps:
    """The gaps in each layer, out of the heads' mean attention `means` (A, L, H) and the selected heads `picks` (A, L).

    The picks are those of the whole answer, whichever tokens `means` are taken over, as RAUQ picks.
    """
    return HeadGaps(
        *(
            gaps(values, sides, resamples=resamples, seed=seed)
            for values in (of_selected(means, picks), means.mean(axis=-1))
        )
    )


def gaps(values: np.ndarray, sides: Sides, *, resamples: int = 1000, seed: int = 0) -> Gaps:
    """The gap in each column of `values` (A, K), with intervals from resampling each side by itself.

    An answer counts in the columns where its value is defined.

    Raises:
        InvalidInput: values and sides of different answers.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or len(values) != len(sides.correct):
        message = (
            f"values are {values.shape}; give one row for each of the {len(sides.correct)} answers that have a side."
        )
        raise InvalidInput(message)
    rng = np.random.default_rng(seed)
    correct, incorrect = _side(values[sides.correct]), _side(values[sides.incorrect])
    resampled = [_resampled(rng, values[mask], resamples) for mask in (sides.correct, sides.incorrect)]
    lonely = np.minimum(correct.count, incorrect.count) < 2
    absolute, percent = (
        with_interval(difference(correct.mean, incorrect.mean), np.where(lonely, np.nan, difference(*resampled)))
        for difference in (np.subtract, _percent)
    )
    return Gaps(
        values=values,
        sides=sides,
        correct=correct,
        incorrect=incorrect,
        absolute=absolute,
        percent=percent,
        reasons=tuple(map(_reason, correct.count, incorrect.count, incorrect.mean)),
    )


def _side(values: np.ndarray) -> Side:
    count = np.isfinite(values).sum(axis=0)
    quantiles = np.full((len(QUANTILES), values.shape[1]), np.nan)
    if (defined := count > 0).any():
        quantiles[:, defined] = np.nanquantile(values[:, defined], QUANTILES, axis=0)
    return Side(count, divided(np.nansum(values, axis=0), count), quantiles)


def _resampled(rng: np.random.Generator, values: np.ndarray, resamples: int) -> np.ndarray:
    if not len(values):
        return np.full((resamples, values.shape[1]), np.nan)
    return resampled_means(draw_counts(rng, len(values), count=resamples), values)


def _percent(correct: np.ndarray, incorrect: np.ndarray) -> np.ndarray:
    return 100 * divided(correct - incorrect, incorrect)


def _reason(num_correct: int, num_incorrect: int, incorrect_mean: float) -> str:
    missing = [side for side, count in (("correct", num_correct), ("incorrect", num_incorrect)) if not count]
    if missing:
        return f"no {' and no '.join(missing)} answer has attention here"
    if min(num_correct, num_incorrect) == 1:
        return "one answer is too few for an interval"
    return "" if incorrect_mean else "the mean of incorrect answers is 0, so the percentage is undefined"
