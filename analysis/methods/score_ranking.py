"""How well one score ranks answers: over all of them and, as the two can differ in sign, on average within groups."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pandas as pd

from analysis.methods.comparison import ALL, WITHIN, Comparison, Metric, compare, groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import METRICS, in_words

_SCORE = "score"


def rank_score(
    uncertainty: np.ndarray,
    quality: np.ndarray,
    groups: Sequence[str],
    *,
    thresholds: Thresholds,
    resamples: int = 1000,
) -> tuple[Comparison, ...]:
    """Rank A answers by their uncertainty (A,), by each metric."""
    answers = pd.DataFrame({_SCORE: uncertainty, "quality": quality})
    return tuple(
        compare(answers, [_SCORE], groups_of(groups), metric=metric, thresholds=thresholds, resamples=resamples)
        for metric in get_args(Metric)
    )


def score_sentence(found: Sequence[Comparison]) -> str:
    """How well the score ranks all answers, or why that is undefined."""
    first, *others = (one.of_group(ALL)[0] for one in found)
    if first.reason and all(other.reason for other in others):
        return f"Ranking by this score is undefined: {first.reason.removesuffix(': ranking is undefined')}."
    return f"Ranking {first.n:,} answers by this score: {_metrics(found, ALL)}."


def within_sentence(found: Sequence[Comparison]) -> str:
    """The mean within groups of the same metrics; "" without groups."""
    return f"Mean within groups: {_metrics(found, WITHIN)}." if WITHIN in found[0].groups else ""


def _metrics(found: Sequence[Comparison], group: str) -> str:
    return ", ".join(f"{METRICS[one.metric]} {in_words(one.of_group(group)[0])}" for one in found)
