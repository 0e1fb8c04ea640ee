"""Comparison of methods: how well each ranks the answers of every group, RAUQ minus others, and curves of rejection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from analysis.answer_sets.clusters import clusters_or_own
from analysis.answer_sets.sides import shown_groups
from analysis.intervals import (
    LEAST,
    Answers,
    Spread,
    ends,
    influence_of,
    mean_spread,
    rarer_side,
    scale_of,
    spread_of,
    too_few,
)
from analysis.quality.judgement import Thresholds
from analysis.runs.own import row_of
from analysis.stats import (
    Estimate,
    RejectionCurve,
    is_defined,
    prr,
    ranks,
    rejection_curve,
    roc_auc,
    sign_of,
    why_undefined,
)
from rauq.errors import InvalidInput


def name_of(method: str) -> str:
    """The name of a method for a reader, by its id; a variant outside the table is called by its id."""
    row = row_of(method)
    return row.name if row else method.replace("_", " ")


ALL, WITHIN = "all", "mean within groups"


@dataclass(frozen=True, eq=False)
class Group:
    """A group of answers: its name, its rows (n,) of the run's table, and which of these answer one question (n,).

    "all" holds every answer.
    """

    name: str
    rows: np.ndarray
    cluster: np.ndarray

    def among(self, kept: np.ndarray) -> "Group":
        """The group without the answers that are not `kept` (A,)."""
        own = kept[self.rows]
        return Group(self.name, self.rows[own], self.cluster[own])


def groups_of(names: Sequence[str], *, clusters: np.ndarray | None = None) -> tuple[Group, ...]:
    """All answers first, then each group of several that are shown; `names` (A,) is the group of each answer.

    `clusters` (A,): answers to one question have one label; None: each answers a question of its own.
    """
    given = np.asarray(names)
    cluster = clusters_or_own(clusters, len(given))
    own = [Group(name, rows := np.flatnonzero(given == name), cluster[rows]) for name in shown_groups(given)]
    return (Group(ALL, np.arange(len(given)), cluster), *own)


Metric = Literal["prr", "roc_auc"]

_METRICS: dict[Metric, Callable[[np.ndarray, np.ndarray], float]] = {"prr": prr, "roc_auc": roc_auc}


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The answers of a group, n of which can be judged.

    `rows` (n,) are theirs in the run's table. `of`: their quality, or for ROC-AUC 1 where it is above the threshold,
    else 0, and which of them answer one question. `size`: all answers of the group.
    """

    name: str
    metric: Metric
    rows: np.ndarray
    of: Answers
    size: int

    @property
    def truth(self) -> np.ndarray:
        """What the answers (n,) are ranked against."""
        return self.of.truth

    @property
    def can_be_ranked(self) -> bool:
        """Whether the metric of any ranking is defined: there are enough answers, and not all are alike."""
        return not np.isnan(_METRICS[self.metric](-self.truth, self.truth))

    @property
    def is_averaged(self) -> bool:
        """Whether a mean over groups counts this one: a ranking of very few answers of either kind is mostly noise."""
        return self.can_be_ranked and rarer_side(self.of) >= LEAST


@dataclass(frozen=True, eq=False)
class Ranking:
    """The metric of one uncertainty, what each of the n judged answers adds to its error (n,), and how far it is off.

    `spread` is None where the metric is undefined.
    """

    estimate: Estimate
    influence: np.ndarray
    spread: Spread | None


def judged(group: Group, quality: np.ndarray, *, metric: Metric, thresholds: Thresholds) -> Judged:
    """The answers of a group by their quality (A,) of all answers; for ROC-AUC correct is above `thresholds.roc`."""
    kept = np.isfinite(quality[group.rows])
    rows = group.rows[kept]
    truth = quality[rows] if metric == "prr" else (quality[rows] > thresholds.roc).astype(float)
    return Judged(
        name=group.name, metric=metric, rows=rows, of=Answers(truth, group.cluster[kept]), size=len(group.rows)
    )


def ranking(uncertainty: np.ndarray, among: Judged) -> Ranking:
    """Rank the judged answers by their uncertainty (n,), or by each of S (S, n) and take the mean of the metric.

    Answers that lack one are left out.
    """
    rows = np.atleast_2d(uncertainty)
    kept, metric = ~np.isnan(rows).any(axis=0), _METRICS[among.metric]
    of, rows = among.of.among(kept), rows[:, kept]
    n, influence = int(kept.sum()), np.zeros(len(kept))
    value = float(np.mean([metric(row, of.truth) for row in rows]))
    if np.isnan(value):
        reason = _why_undefined(rows[0], of.truth, among.metric)
        return Ranking(Estimate(value, np.nan, np.nan, n, among.size - n, reason), influence, None)
    influence[kept] = np.mean([influence_of(metric, row, of.truth) for row in rows], axis=0)
    spread = spread_of(value, influence[kept], of, scale_of(metric, of.truth))
    return Ranking(_estimate(value, spread, n, among.size - n, too_few(of)), influence, spread)


def _estimate(value: float, spread: Spread, n: int, excluded: int, too_few: str) -> Estimate:
    return Estimate(value, *ends(value, spread), n, excluded, no_interval="" if spread.is_known else too_few)


def _why_undefined(uncertainty: np.ndarray, truth: np.ndarray, metric: Metric) -> str:
    if metric == "roc_auc" and len(truth) > 1:
        return f"all {len(truth)} answers are {'correct' if truth[0] else 'incorrect'}: ranking is undefined"
    return why_undefined(uncertainty, truth)


@dataclass(frozen=True, eq=False)
class JudgedGroups:
    """All answers judged, and those of each of the groups that a mean is over, if there are several."""

    whole: Judged
    own: tuple[Judged, ...]

    @property
    def parts(self) -> tuple[Judged, ...]:
        """All answers first, then each group."""
        return (self.whole, *self.own)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what is reported: "all" first, the mean within groups second, then each group."""
        return (self.whole.name, *((WITHIN,) if self.own else ()), *(part.name for part in self.own))

    def reported(self, rankings: Sequence[Ranking]) -> tuple[Ranking, ...]:
        """The rankings of `parts`, with the mean within groups in second place, as `names`."""
        whole, *own = rankings
        return (whole, *((_mean_within(own, self.own),) if own else ()), *own)


def judged_groups(
    groups: Sequence[Group], quality: np.ndarray, *, metric: Metric, thresholds: Thresholds
) -> JudgedGroups:
    """Judge all answers, the first of the groups, and each of the others, as `judged`."""
    whole, *own = (judged(group, quality, metric=metric, thresholds=thresholds) for group in groups)
    return JudgedGroups(whole, tuple(own))


def _mean_within(rankings: Sequence[Ranking], parts: Sequence[Judged]) -> Ranking:
    """The mean over the groups that count, undefined where one of these is; groups are independent."""
    ranked = [one for one, part in zip(rankings, parts, strict=True) if part.is_averaged]
    n, size = sum(one.estimate.n for one in ranked), sum(part.size for part in parts)
    undefined = sum(one.spread is None for one in ranked)
    if undefined or not ranked:
        reason = f"undefined in {undefined} of {len(ranked)} groups" if ranked else NO_GROUP
        return Ranking(Estimate(np.nan, np.nan, np.nan, n, size - n, reason), np.zeros(0), None)
    return mean_of(ranked, size=size)


def mean_of(ranked: Sequence[Ranking], *, size: int) -> Ranking:
    """The mean of rankings that are all defined, each of answers of its own, `size` of them in all."""
    spread = mean_spread([one.spread for one in ranked if one.spread])
    value, n = float(np.mean([one.estimate.value for one in ranked])), sum(one.estimate.n for one in ranked)
    return Ranking(_estimate(value, spread, n, size - n, _TOO_FEW), np.zeros(0), spread)


NO_GROUP = f"no group has correct and incorrect answers to at least {LEAST} questions each"
_TOO_FEW = "some of what is averaged has too few correct or incorrect answers"


@dataclass(frozen=True, eq=False, kw_only=True)
class Paired:
    """`base` minus each of M other methods, by id, in G groups: above 0 `base` ranks better.

    `differences` (M, G): `groups` as in `Comparison`. Answers that either of the two methods lacks are left out of
    both: `n` and `excluded` of a difference count them.
    """

    base: str
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    differences: tuple[tuple[Estimate, ...], ...]

    @property
    def headline(self) -> dict[str, tuple[Estimate, ...]]:
        """The differences (M,) of the groups that stand for a run."""
        return {name: self.of_group(name) for name in headline_groups(self.groups)}

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The differences (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.differences)


def is_reversed(pooled: Estimate, within: Estimate) -> bool:
    """Whether a difference among all answers and its mean within groups have opposite signs, both beyond noise."""
    return sign_of(pooled) * sign_of(within) == -1


def reversals(paired: Paired) -> tuple[str, ...]:
    """The methods whose difference is reversed within groups."""
    if WITHIN not in paired.groups:
        return ()
    both = zip(paired.methods, paired.of_group(ALL), paired.of_group(WITHIN), strict=True)
    return tuple(method for method, pooled, within in both if is_reversed(pooled, within))


def pair(
    base: str,
    uncertainties: Mapping[str, np.ndarray],
    rankings: Mapping[str, Sequence[Ranking]],
    among: JudgedGroups,
) -> Paired:
    """Subtract each method from `base`; uncertainties are (A,), rankings those of the parts."""
    others = [method for method in uncertainties if method != base]
    found = [
        [
            difference(
                (uncertainties[base][part.rows], rankings[base][place]),
                (uncertainties[other][part.rows], rankings[other][place]),
                part,
            )
            for place, part in enumerate(among.parts)
        ]
        for other in others
    ]
    return Paired(
        base=base,
        methods=tuple(others),
        groups=among.names,
        differences=tuple(tuple(one.estimate for one in among.reported(row)) for row in found),
    )


def difference(base: tuple[np.ndarray, Ranking], other: tuple[np.ndarray, Ranking], among: Judged) -> Ranking:
    """The metric of one uncertainty, (n,) or (S, n), minus that of another, among the answers that have both."""
    both = ~np.isnan(np.vstack([base[0], other[0]])).any(axis=0)
    first, second = (_on(both, *one, among) for one in (base, other))
    value, influence = first.estimate.value - second.estimate.value, first.influence - second.influence
    n, excluded = first.estimate.n, first.estimate.excluded
    if first.spread is None or second.spread is None:
        reason = first.estimate.reason or second.estimate.reason
        return Ranking(Estimate(value, np.nan, np.nan, n, excluded, reason), influence, None)
    of = among.of.among(both)
    spread = spread_of(value, influence[both], of, first.spread.scale.of_differences)
    return Ranking(_estimate(value, spread, n, excluded, too_few(of)), influence, spread)


def _on(both: np.ndarray, uncertainty: np.ndarray, ranked: Ranking, among: Judged) -> Ranking:
    """The given values are reused if no answer has to be excluded."""
    return ranked if ranked.estimate.n == both.sum() else ranking(np.where(both, uncertainty, np.nan), among)


RAUQ, MSP = "rauq", "msp"
_EQUAL = 12  # decimals: values closer than this are equal, so that the order of a sum does not matter


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """M methods, by id, in G groups: "all", then, where there are several, the mean within groups, and each of these.

    `estimates` (M, G): PRR or ROC-AUC, higher is better. The mean is over the groups that have enough answers of
    either kind, as the paper's is over data sets. `mean_ranks` (M,): the mean over the same groups of the method's
    rank, 1 being the best; nan where it is undefined in one of them. `paired`: RAUQ minus each other method, None where
    RAUQ is not among them. `answers` of all groups have a quality; they answer so many `questions`.
    """

    metric: Metric
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]
    mean_ranks: np.ndarray
    paired: Paired | None
    answers: int
    questions: int

    @property
    def headline(self) -> dict[str, tuple[Estimate, ...]]:
        """The estimates (M,) of the groups that stand for a run."""
        return {name: self.of_group(name) for name in headline_groups(self.groups)}

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.estimates)

    @property
    def best_first(self) -> list[int]:
        """The places of the methods from the best to the worst over all answers, undefined ones last."""
        return np.argsort([-one.value for one in self.of_group(ALL)], kind="stable").tolist()


def title_of(group: str) -> str:
    """The name of a group for a reader."""
    return "all answers" if group == ALL else group


def headline_groups(groups: Sequence[str]) -> tuple[str, ...]:
    """What stands for a run: all answers, and the mean within groups where there are several."""
    return tuple(groups[: 1 + (WITHIN in groups)])


def compare(
    answers: pd.DataFrame,
    methods: Sequence[str],
    groups: Sequence[Group],
    *,
    metric: Metric,
    thresholds: Thresholds,
) -> Comparison:
    """Rank A answers by the column of each method; `answers` also has their quality.

    For ROC-AUC an answer is correct if its quality is above `thresholds.roc`.

    Raises:
        InvalidInput: a method that has no column.
    """
    uncertainties = {method: _column(answers, method) for method in methods}
    quality = _column(answers, "quality")
    among = judged_groups(groups, quality, metric=metric, thresholds=thresholds)
    found = {
        method: [ranking(values[part.rows], part) for part in among.parts] for method, values in uncertainties.items()
    }
    return Comparison(
        metric=metric,
        methods=tuple(methods),
        groups=among.names,
        estimates=tuple(tuple(one.estimate for one in among.reported(row)) for row in found.values()),
        mean_ranks=_mean_ranks(list(found.values()), among),
        paired=pair(RAUQ, uncertainties, found, among) if RAUQ in methods else None,
        answers=len(among.whole.rows),
        questions=len(np.unique(among.whole.of.cluster)),
    )


def marks(estimates: Sequence[Estimate]) -> np.ndarray:
    """Marks (M,) of the methods of a column: 1 the best, 2 the second, equal ones alike, else 0; never an undefined."""
    values = np.round([found.value for found in estimates], _EQUAL)
    first, second = [*np.unique(-values[~np.isnan(values)]), np.nan, np.nan][:2]
    return np.where(-values == first, 1, np.where(-values == second, 2, 0))


def _column(answers: pd.DataFrame, name: str) -> np.ndarray:
    if name not in answers:
        message = f"The answers have no column {name}; their columns are {', '.join(map(str, answers))}."
        raise InvalidInput(message)
    return answers[name].to_numpy(dtype=float)


def _mean_ranks(rankings: Sequence[Sequence[Ranking]], among: JudgedGroups) -> np.ndarray:
    """The mean rank (M,) over the groups that can be ranked, given the rankings of each part."""
    own = [place for place, part in enumerate(among.parts) if part.is_averaged and (place or not among.own)]
    placed = np.full((len(rankings), max(len(own), 1)), np.nan)
    for column, place in enumerate(own):
        values = np.round([row[place].estimate.value for row in rankings], _EQUAL)
        there = ~np.isnan(values)
        placed[there, column] = ranks(-values[there])
    return placed.mean(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejections:
    """Mean quality of what M methods, by id, keep as they reject: over the `n` answers that all and quality have.

    They share an oracle, being over the same answers. `excluded` other answers lack one of them.
    """

    methods: tuple[str, ...]
    curves: tuple[RejectionCurve, ...]
    n: int
    excluded: int


def rejections(uncertainties: Mapping[str, np.ndarray], quality: np.ndarray) -> Rejections:
    """Reject by each of the uncertainties (A,) of the same answers, up to all but one."""
    kept = np.all([is_defined(uncertainty, quality) for uncertainty in uncertainties.values()], axis=0)
    return Rejections(
        methods=tuple(uncertainties),
        curves=tuple(rejection_curve(uncertainty[kept], quality[kept]) for uncertainty in uncertainties.values()),
        n=int(kept.sum()),
        excluded=int((~kept).sum()),
    )
