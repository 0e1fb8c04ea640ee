"""How well methods rank answers with all unclear ones taken as correct, and with all taken as incorrect."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from analysis.methods.comparison import (
    ALL,
    RAUQ,
    WITHIN,
    Comparison,
    Group,
    Metric,
    compare,
    headline_groups,
    marks,
    name_of,
)
from analysis.methods.score_ranking import rank_score
from analysis.quality.judgement import Thresholds
from analysis.quality.unclear import Figure, UnclearBounds, bounds_sentence, unclear_bounds
from analysis.stats import METRICS
from rauq.labels import number

_PLACES = {ALL: "over all answers", WITHIN: "within groups"}
_HEADINGS = {ALL: "{} of all", WITHIN: "mean {} within groups"}


def comparison_bounds(
    answers: pd.DataFrame, methods: Sequence[str], groups: Sequence[Group], *, metric: Metric, thresholds: Thresholds
) -> UnclearBounds[Comparison] | None:
    """Compare methods, as `compare` does; None where no answer is unclear."""

    def compared(quality: np.ndarray) -> Comparison:
        return compare(answers.assign(quality=quality), methods, groups, metric=metric, thresholds=thresholds)

    return _bounds(compared, answers)


def comparison_bounds_sentences(
    bounds: UnclearBounds[Comparison] | None, found: Comparison | None = None
) -> tuple[str, ...]:
    """Both values of the metric over all answers and, where there are groups, within them; none without bounds.

    They are those of RAUQ, or of the first method, after the best of the comparison `found`.
    """
    names = headline_groups(bounds.correct.groups) if bounds else ()
    return tuple(_comparison_bounds_sentence(bounds, name, found) for name in names if bounds)


def _comparison_bounds_sentence(bounds: UnclearBounds[Comparison], group: str, found: Comparison | None) -> str:
    methods = bounds.correct.methods
    own = methods.index(RAUQ) if RAUQ in methods else 0
    best = [int(place) for place in np.flatnonzero(marks(found.of_group(group)) == 1)[:1]] if found else []
    shown = list(dict.fromkeys([*best, own]))

    def in_words(comparison: Comparison) -> str:
        values = comparison.of_group(group)
        return ", ".join(f"{name_of(methods[place])} {number(values[place].value, places=2)}" for place in shown)

    return bounds_sentence(f"{METRICS[bounds.correct.metric]} {_PLACES[group]}", bounds.of(in_words))


def with_bounds(table: pd.DataFrame, found: UnclearBounds[Comparison] | None) -> pd.DataFrame:
    """A table with a row for each method of a comparison, and with the bounds of its headline as further columns."""
    if found is None:
        return table
    sides = (("correct", found.correct), ("incorrect", found.incorrect))
    return table.assign(
        **{
            f"{_HEADINGS[name].format(METRICS[one.metric])}, unclear as {side}": [
                estimate.value for estimate in one.of_group(name)
            ]
            for name in headline_groups(found.correct.groups)
            for side, one in sides
        }
    )


def score_bounds(
    answers: pd.DataFrame, uncertainty: np.ndarray, *, thresholds: Thresholds
) -> UnclearBounds[tuple[Comparison, ...]] | None:
    """Rank A answers by their uncertainty (A,), as `rank_score` does; None as above."""
    groups = answers["group"].tolist()

    def ranked(quality: np.ndarray) -> tuple[Comparison, ...]:
        return rank_score(uncertainty, quality, groups, thresholds=thresholds)

    return _bounds(ranked, answers)


def score_bounds_sentence(found: UnclearBounds[tuple[Comparison, ...]] | None) -> str:
    """Both values of each metric of one score over all answers; "" without bounds."""
    return bounds_sentence("Ranking over all answers", found.of(_metrics_in_words)) if found else ""


def _metrics_in_words(found: Sequence[Comparison]) -> str:
    return ", ".join(f"{METRICS[one.metric]} {number(one.of_group(ALL)[0].value, places=2)}" for one in found)


def _bounds(figure: Callable[[np.ndarray], Figure], answers: pd.DataFrame) -> UnclearBounds[Figure] | None:
    return unclear_bounds(figure, answers["quality"].to_numpy(dtype=float), answers["unclear"].to_numpy(dtype=bool))
