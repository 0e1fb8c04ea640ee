"""Rankings that look at no probability and no attention: what a method has to beat before its figure is believed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.methods.comparison import ALL, Group, Metric, judged, ranking
from analysis.quality.judgement import Thresholds
from analysis.stats import METRICS, Estimate, in_words
from rauq.labels import number
from rauq.methods.table import METHODS


@dataclass(frozen=True, kw_only=True)
class Simple:
    """How well A answers are ranked by simple facts about them, as PRR or ROC-AUC.

    `length`: by their tokens, the longest first. `group`: by the mean quality of their group; None without groups.
    `unnamed`: by whether they name nothing that the judge of facts knows, a share `share_unnamed` of them; None where
    all or none do, or where some of these are correct.
    """

    metric: Metric
    length: Estimate
    group: Estimate | None
    unnamed: Estimate | None
    share_unnamed: float


def simple_rankings(
    answers: pd.DataFrame, *, metric: Metric, thresholds: Thresholds, resamples: int = 1000, seed: int = 0
) -> Simple:
    """Rank the answers of a run's table (A rows) with a quality by their length, their group, and what they name."""
    quality = answers["quality"].to_numpy(dtype=float)
    among = judged(
        Group(ALL, np.arange(len(answers))), quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed
    )

    def by(values: np.ndarray) -> Estimate:
        return ranking(values[among.rows].astype(float), among).estimate

    unnamed = answers["num_fact_tokens"].to_numpy() == 0
    of_group = answers["quality"].groupby(answers["group"]).transform("mean").to_numpy(dtype=float)
    return Simple(
        metric=metric,
        length=by(answers["num_tokens"].to_numpy()),
        group=by(-of_group) if len(set(answers["group"])) > 1 else None,
        unnamed=by(unnamed) if unnamed.any() and not unnamed.all() and not (quality[unnamed] > 0).any() else None,
        share_unnamed=float(unnamed.mean()),
    )


def simple_sentence(found: Simple) -> str:
    """How well length and group alone rank the answers."""
    if found.length.reason:
        return ""
    by_group = f", by the mean quality of their group alone {in_words(found.group)}" if found.group else ""
    return (
        f"For comparison, all answers ranked by their length alone have a {METRICS[found.metric]} of "
        f"{in_words(found.length)}{by_group}."
    )


def unnamed_note(found: Simple, methods: Sequence[str]) -> str:
    """Why methods that use the judge of facts are favoured; "" where none is there, or the judge knows every answer."""
    if found.unnamed is None or not any("facts" in METHODS[method].needs for method in methods if method in METHODS):
        return ""
    return joined(
        f"{number(100 * found.share_unnamed, places=0)} % of the answers name nothing that the judge of facts knows. "
        "They agree with no sample by the same facts, and none of them is judged correct: this alone ranks all "
        f"answers with a {METRICS[found.metric]} of {in_words(found.unnamed)}.",
        "So the methods marked “same facts” are favoured here, and cannot be compared with the others.",
    )
