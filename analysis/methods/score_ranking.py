"""How well answers are ranked by one score, or by simple facts about them: their length, group, and what they name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.methods.comparison import ALL, WITHIN, Comparison, Metric, compare, groups_of, headline_groups
from analysis.quality.judgement import Thresholds
from analysis.runs.own import uses_judge
from analysis.stats import METRICS, Estimate, in_words
from rauq.labels import number

_SCORE = "score"


def rank_score(
    uncertainty: np.ndarray,
    quality: np.ndarray,
    groups: Sequence[str],
    *,
    thresholds: Thresholds,
    clusters: np.ndarray | None = None,
) -> tuple[Comparison, ...]:
    """Rank A answers by their uncertainty (A,), by each metric; `clusters` (A,): which of them answer one question."""
    answers = pd.DataFrame({_SCORE: uncertainty, "quality": quality})
    parts = groups_of(groups, clusters=clusters)
    return tuple(compare(answers, [_SCORE], parts, metric=metric, thresholds=thresholds) for metric in get_args(Metric))


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


@dataclass(frozen=True, kw_only=True)
class Simple:
    """How well A answers are ranked by simple facts about them, as PRR or ROC-AUC.

    `length`: by their tokens, the longest first. `group`: by the mean quality of their group; None without groups.
    `unnamed`: by whether they name nothing that the judge of facts knows, a share `share_unnamed` of them; None where
    all or none do, or where some of these are correct. `within`: the mean within groups of `length` and `unnamed`, as
    far as these and several groups are there.
    """

    metric: Metric
    length: Estimate
    group: Estimate | None
    unnamed: Estimate | None
    share_unnamed: float
    within: Mapping[str, Estimate]


def simple_rankings(
    answers: pd.DataFrame, *, metric: Metric, thresholds: Thresholds, clusters: np.ndarray | None = None
) -> Simple:
    """Rank the answers of a run's table (A rows) with a quality by their length, their group, and what they name."""
    quality = answers["quality"].to_numpy(dtype=float)
    unnamed = answers["num_fact_tokens"].to_numpy() == 0
    tells = unnamed.any() and not unnamed.all() and not (quality[unnamed] > 0).any()
    of_group = answers["quality"].groupby(answers["group"]).transform("mean").to_numpy(dtype=float)
    columns = {"length": answers["num_tokens"].to_numpy(dtype=float)}
    columns |= {"group": -of_group} if len(set(answers["group"])) > 1 else {}
    columns |= {"unnamed": unnamed.astype(float)} if tells else {}
    table = pd.DataFrame(columns | {"quality": quality})
    groups = groups_of(answers["group"], clusters=clusters)
    found = compare(table, list(columns), groups, metric=metric, thresholds=thresholds)
    overall, within = (dict(zip(columns, found.of_group(name), strict=True)) for name in _headline(found))
    return Simple(
        metric=metric,
        length=overall["length"],
        group=overall.get("group"),
        unnamed=overall.get("unnamed"),
        share_unnamed=float(unnamed.mean()),
        within={name: one for name, one in within.items() if name != "group"} if WITHIN in found.groups else {},
    )


def _headline(comparison: Comparison) -> tuple[str, str]:
    return comparison.groups[0], headline_groups(comparison.groups)[-1]


def simple_sentence(simple: Simple) -> str:
    """How well length and group alone rank the answers."""
    if simple.length.reason:
        return ""
    by_group = f", by the mean quality of their group alone {in_words(simple.group)}" if simple.group else ""
    return (
        f"For comparison, all answers ranked by their length alone have a {METRICS[simple.metric]} of "
        f"{in_words(simple.length)}{_within(simple, 'length')}{by_group}."
    )


def _within(simple: Simple, name: str) -> str:
    """The mean within groups, in brackets after the value over all answers; "" where it is undefined."""
    own = simple.within.get(name)
    return f" (mean within groups {in_words(own)})" if own is not None and not own.reason else ""


def unnamed_note(simple: Simple, methods: Sequence[str]) -> str:
    """Why methods that use the judge of facts are favoured; "" where none is there, or the judge knows every answer."""
    if simple.unnamed is None or not any(map(uses_judge, methods)):
        return ""
    return joined(
        f"{number(100 * simple.share_unnamed, places=0)} % of the answers name nothing that the judge of facts knows. "
        "They agree with no sample by the same facts, and none of them is judged correct: this alone ranks all "
        f"answers with a {METRICS[simple.metric]} of {in_words(simple.unnamed)}{_within(simple, 'unnamed')}.",
        "So these methods are favoured here, and cannot be compared with the others.",
    )
