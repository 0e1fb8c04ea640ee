"""Comparison of methods: how well each ranks the answers of every group, RAUQ minus others, and curves of rejection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from analysis.answer_sets.sides import shown_groups
from analysis.quality.judgement import Thresholds
from analysis.runs.own import row_of
from analysis.stats import (
    Bounds,
    Estimate,
    RejectionCurve,
    bounds_of,
    counts_of,
    interval,
    is_defined,
    prr,
    ranks,
    rejection_curve,
    resampled_prr,
    resampled_roc_auc,
    resamples,
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
    """A group of answers: its name, and its rows (n,) of the run's table. "all" holds every answer."""

    name: str
    rows: np.ndarray


def groups_of(names: Sequence[str]) -> tuple[Group, ...]:
    """All answers first, then each group of several that are shown; `names` (A,) is the group of each answer."""
    given = np.asarray(names)
    own = tuple(Group(name, np.flatnonzero(given == name)) for name in shown_groups(given))
    return (Group(ALL, np.arange(len(given))), *own)


Metric = Literal["prr", "roc_auc"]

MOST_RESAMPLED, SAMPLE = 20_000, 1_000
"""Of more answers in all than the first, resamples of each group draw from a seeded sample of the second."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The answers of a group, n of which can be judged, and R bootstrap resamples of those.

    `rows` (n,) are theirs in the run's table. `truth` (n,): their quality, or for ROC-AUC 1 where it is above the
    threshold, else 0. `drawn` (m,): the places of those that are resampled, all of them in a small run.
    `counts` (m, R): how often each resample draws each; `bounds`: what a PRR of a resample lies between. `size`: all
    answers of the group.
    """

    name: str
    metric: Metric
    rows: np.ndarray
    truth: np.ndarray
    drawn: np.ndarray
    counts: np.ndarray
    bounds: Bounds | None
    size: int

    @property
    def can_be_ranked(self) -> bool:
        """Whether the metric of any ranking is defined: there are enough answers, and not all are alike."""
        metric = prr if self.metric == "prr" else roc_auc
        return not np.isnan(metric(-self.truth, self.truth))


@dataclass(frozen=True, eq=False)
class Ranking:
    """The metric of one uncertainty, from the answers that have it, and its values (R,) on the resamples of those."""

    estimate: Estimate
    resampled: np.ndarray


def judged(
    group: Group, quality: np.ndarray, *, metric: Metric, thresholds: Thresholds, count: int = 1000, seed: int = 0
) -> Judged:
    """The answers of a group by their quality (A,) of all answers; for ROC-AUC correct is above `thresholds.roc`.

    A `count` of 0 draws no resamples: nothing then has an interval. Where more than `MOST_RESAMPLED` answers are given,
    a sample of the group is resampled, drawn by the same seed.
    """
    rows = group.rows[np.isfinite(quality[group.rows])]
    truth = quality[rows] if metric == "prr" else (quality[rows] > thresholds.roc).astype(float)
    drawn = _drawn(len(rows), seed) if len(quality) > MOST_RESAMPLED else np.arange(len(rows))
    counts = counts_of(resamples(len(drawn), count=count, seed=seed)) if len(rows) else np.zeros((0, count), np.int32)
    return Judged(
        name=group.name,
        metric=metric,
        rows=rows,
        truth=truth,
        drawn=drawn,
        counts=counts,
        bounds=bounds_of(truth[drawn], counts) if metric == "prr" and count else None,
        size=len(group.rows),
    )


def _drawn(size: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(size, min(size, SAMPLE), replace=False))


def ranking(uncertainty: np.ndarray, among: Judged) -> Ranking:
    """Rank the judged answers by their uncertainty (n,), or by each of S (S, n) and take the mean of the metric.

    Answers that lack one are left out, of every resample too.
    """
    rows = np.atleast_2d(uncertainty)
    kept = ~np.isnan(rows).any(axis=0)
    found = [_metric(row, among) for row in np.where(kept, rows, np.nan)]
    value, resampled = (np.mean(several, axis=0) for several in zip(*found, strict=True))
    if np.isnan(value):
        resampled = np.full_like(resampled, np.nan)  # a resample may hold enough answers where the group does not
    reason = _why_undefined(rows[0, kept], among.truth[kept], among.metric) if np.isnan(value) else ""
    n = int(kept.sum())
    return Ranking(Estimate(float(value), *interval(resampled), n, among.size - n, reason), resampled)


def _metric(uncertainty: np.ndarray, among: Judged) -> tuple[float, np.ndarray]:
    value = _value(uncertainty, among.truth, among.metric)
    if not among.counts.shape[1]:
        return value, np.zeros(0)
    some, truth = uncertainty[among.drawn], among.truth[among.drawn]
    resampled = _resampled(some, truth, among)
    if len(some) == len(uncertainty):
        return value, resampled
    # The spread of a metric shrinks with the root of the number of answers: that of a sample is brought to all of them.
    scale = np.sqrt(len(some) / len(uncertainty))
    return value, value + (resampled - _value(some, truth, among.metric)) * scale


def _value(uncertainty: np.ndarray, truth: np.ndarray, metric: Metric) -> float:
    return prr(uncertainty, truth) if metric == "prr" else roc_auc(uncertainty, truth)


def _resampled(uncertainty: np.ndarray, truth: np.ndarray, among: Judged) -> np.ndarray:
    if among.metric == "prr":
        return resampled_prr(uncertainty, truth, among.counts, bounds=among.bounds)
    return resampled_roc_auc(uncertainty, truth, among.counts)


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
    groups: Sequence[Group],
    quality: np.ndarray,
    *,
    metric: Metric,
    thresholds: Thresholds,
    count: int = 1000,
    seed: int = 0,
) -> JudgedGroups:
    """Judge all answers, the first of the groups, and each of the others, as `judged`."""
    whole, *own = (
        judged(group, quality, metric=metric, thresholds=thresholds, count=count, seed=seed) for group in groups
    )
    return JudgedGroups(whole, tuple(own))


def _mean_within(rankings: Sequence[Ranking], parts: Sequence[Judged]) -> Ranking:
    """The mean over the groups that can be ranked, undefined where one of these is.

    Each group is resampled within itself, independently of the others.
    """
    ranked = [one for one, part in zip(rankings, parts, strict=True) if part.can_be_ranked]
    n, size = sum(one.estimate.n for one in ranked), sum(part.size for part in parts)
    undefined = sum(one.estimate.reason != "" for one in ranked)
    if undefined or not ranked:
        reason = f"undefined in {undefined or len(parts)} of {len(ranked) or len(parts)} groups"
        nothing = np.full_like(rankings[0].resampled, np.nan)
        return Ranking(Estimate(np.nan, np.nan, np.nan, n, size - n, reason), nothing)
    return mean_of(ranked, size=size)


def mean_of(ranked: Sequence[Ranking], *, size: int) -> Ranking:
    """The mean of rankings that are all defined, each of answers of its own, `size` of them in all."""
    # Groups of one size have been drawn by the same indices: put out of step, they are independent again.
    resampled = np.mean([np.roll(_defined(one.resampled), step) for step, one in enumerate(ranked)], axis=0)
    value, n = float(np.mean([one.estimate.value for one in ranked])), sum(one.estimate.n for one in ranked)
    return Ranking(Estimate(value, *interval(resampled), n, size - n), resampled)


def _defined(resampled: np.ndarray) -> np.ndarray:
    """Values (R,) of resamples; those that are undefined in this group are drawn again from the others."""
    defined = resampled[~np.isnan(resampled)]
    return np.resize(defined, len(resampled)) if len(defined) else resampled


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


def reversals(found: Paired) -> tuple[str, ...]:
    """The methods whose difference is reversed within groups."""
    if WITHIN not in found.groups:
        return ()
    both = zip(found.methods, found.of_group(ALL), found.of_group(WITHIN), strict=True)
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
    value, resampled = first.estimate.value - second.estimate.value, first.resampled - second.resampled
    reason = first.estimate.reason or second.estimate.reason
    return Ranking(Estimate(value, *interval(resampled), first.estimate.n, first.estimate.excluded, reason), resampled)


def _on(both: np.ndarray, uncertainty: np.ndarray, ranked: Ranking, among: Judged) -> Ranking:
    """The given values are reused if no answer has to be excluded."""
    return ranked if ranked.estimate.n == both.sum() else ranking(np.where(both, uncertainty, np.nan), among)


RAUQ = "rauq"
_EQUAL = 12  # decimals: values closer than this are one, whatever the order of a sum


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """M methods, by id, in G groups: "all", then, where there are several, the mean within groups, and each of these.

    `estimates` (M, G): PRR or ROC-AUC, higher is better. The mean is over the groups in which ranking is defined, as
    the paper's is over data sets. `mean_ranks` (M,): the mean over the same groups of the method's rank, 1 being the
    best; nan where it is undefined in one of them. `paired`: RAUQ minus each other method, None where RAUQ is not
    among them.
    """

    metric: Metric
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]
    mean_ranks: np.ndarray
    paired: Paired | None

    @property
    def headline(self) -> dict[str, tuple[Estimate, ...]]:
        """The estimates (M,) of the groups that stand for a run."""
        return {name: self.of_group(name) for name in headline_groups(self.groups)}

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.estimates)


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
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Rank A answers by the column of each method; `answers` also has their quality.

    For ROC-AUC an answer is correct if its quality is above `thresholds.roc`. Within a group one set of bootstrap
    resamples serves every method, so that their differences are paired.

    Raises:
        InvalidInput: a method that has no column.
    """
    uncertainties = {method: _column(answers, method) for method in methods}
    quality = _column(answers, "quality")
    among = judged_groups(groups, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed)
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
    own = [place for place, part in enumerate(among.parts) if part.can_be_ranked and (place or not among.own)]
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
    kept = np.all([is_defined(one, quality) for one in uncertainties.values()], axis=0)
    return Rejections(
        methods=tuple(uncertainties),
        curves=tuple(rejection_curve(one[kept], quality[kept]) for one in uncertainties.values()),
        n=int(kept.sum()),
        excluded=int((~kept).sum()),
    )
