"""Comparison of methods: how well each ranks the answers of every group, and whether RAUQ ranks them better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from analysis.answer_sets.sides import shown_groups
from analysis.quality.judgement import Thresholds
from analysis.stats import (
    Bounds,
    Estimate,
    bounds_of,
    counts_of,
    interval,
    is_defined,
    prr,
    ranks,
    resampled_prr,
    resampled_roc_auc,
    resamples,
    roc_auc,
    why_undefined,
)
from rauq.errors import InvalidInput
from rauq.methods.table import METHODS


def name_of(method: str) -> str:
    """The name of a method for a reader, by its id; a variant outside the table is called by its id."""
    return METHODS[method].name if method in METHODS else method.replace("_", " ")


ALL = "all"


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The answers of a group, n of which can be judged, and R bootstrap resamples of those.

    `rows` (n,) are theirs in the run's table. `truth` (n,): their quality, or for ROC-AUC 1 where it is above the
    threshold, else 0. `counts` (n, R): how often each resample draws each; `bounds`: what a PRR of a resample lies
    between. `size`: all answers of the group.
    """

    name: str
    metric: Metric
    rows: np.ndarray
    truth: np.ndarray
    counts: np.ndarray
    bounds: Bounds | None
    size: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """The metric of one uncertainty, from the answers that have it, and its values (R,) on the resamples of those."""

    estimate: Estimate
    resampled: np.ndarray


def judged(
    group: Group, quality: np.ndarray, *, metric: Metric, thresholds: Thresholds, count: int = 1000, seed: int = 0
) -> Judged:
    """The answers of a group by their quality (A,) of all answers; for ROC-AUC correct is above `thresholds.roc`."""
    rows = group.rows[np.isfinite(quality[group.rows])]
    truth = quality[rows] if metric == "prr" else (quality[rows] > thresholds.roc).astype(float)
    counts = counts_of(resamples(len(rows), count=count, seed=seed)) if len(rows) else np.zeros((0, count), np.int32)
    return Judged(
        name=group.name,
        metric=metric,
        rows=rows,
        truth=truth,
        counts=counts,
        bounds=bounds_of(truth, counts) if metric == "prr" else None,
        size=len(group.rows),
    )


def ranking(uncertainty: np.ndarray, among: Judged) -> Ranking:
    """Rank the judged answers by their uncertainty (n,); those without one are left out, of every resample too."""
    kept = is_defined(uncertainty, among.truth)
    value, resampled = _prr(uncertainty, among) if among.metric == "prr" else _roc_auc(uncertainty, among)
    if np.isnan(value):
        resampled = np.full_like(resampled, np.nan)  # a resample may hold enough answers where the group does not
    reason = _why_undefined(uncertainty[kept], among.truth[kept], among.metric) if np.isnan(value) else ""
    n = int(kept.sum())
    return Ranking(Estimate(value, *interval(resampled), n, among.size - n, reason), resampled)


def mean_ranking(rankings: Sequence[Ranking]) -> Ranking:
    """The mean over groups, nan where it is undefined in one of them."""
    if len(rankings) == 1:
        return rankings[0]
    found = [one.estimate for one in rankings]
    n, excluded = sum(one.n for one in found), sum(one.excluded for one in found)
    # Groups of one size have been drawn by the same indices: put out of step, they are independent again.
    values = np.mean([np.roll(one.resampled, step) for step, one in enumerate(rankings)], axis=0)
    undefined = sum(one.reason != "" for one in found)
    reason = f"undefined in {undefined} of {len(found)} groups" if undefined else ""
    value = float(np.mean([one.value for one in found]))
    return Ranking(Estimate(value, *interval(values), n, excluded, reason), values)


def _prr(uncertainty: np.ndarray, among: Judged) -> tuple[float, np.ndarray]:
    resampled = resampled_prr(uncertainty, among.truth, among.counts, bounds=among.bounds)
    return prr(uncertainty, among.truth), resampled


def _roc_auc(uncertainty: np.ndarray, among: Judged) -> tuple[float, np.ndarray]:
    return roc_auc(uncertainty, among.truth), resampled_roc_auc(uncertainty, among.truth, among.counts)


def _why_undefined(uncertainty: np.ndarray, truth: np.ndarray, metric: Metric) -> str:
    if metric == "roc_auc" and len(truth) > 1:
        return f"all {len(truth)} answers are {'correct' if truth[0] else 'incorrect'}: ranking is undefined"
    return why_undefined(uncertainty, truth)


@dataclass(frozen=True, eq=False, kw_only=True)
class Paired:
    """`base` minus each of M other methods, by id, in G groups: above 0 `base` ranks better.

    `differences` (M, G), and `means` (M,) of their values over the groups that a mean is over. Answers that either of
    the two methods lacks are left out of both: `n` and `excluded` of a difference count them.
    """

    base: str
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    differences: tuple[tuple[Estimate, ...], ...]
    means: tuple[Estimate, ...]

    @property
    def overall(self) -> tuple[Estimate, ...]:
        """The means (M,), or, where some group leaves all of them undefined, the differences among all answers."""
        return overall(self.means, self.of_group(ALL))

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The differences (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.differences)


def overall(means: Sequence[Estimate], among_all: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """What stands for all groups: their means, unless none of these is defined."""
    return tuple(among_all if all(one.reason for one in means) else means)


def pair(
    base: str,
    uncertainties: Mapping[str, np.ndarray],
    rankings: Mapping[str, Sequence[Ranking]],
    among: Sequence[Judged],
    own: Sequence[int],
) -> Paired:
    """Subtract each method from `base`; uncertainties are (A,), rankings (G,); a mean is over the groups at `own`."""
    others = [method for method in uncertainties if method != base]
    found = [
        [
            difference(
                (uncertainties[base][part.rows], rankings[base][place]),
                (uncertainties[other][part.rows], rankings[other][place]),
                part,
            )
            for place, part in enumerate(among)
        ]
        for other in others
    ]
    return Paired(
        base=base,
        methods=tuple(others),
        groups=tuple(part.name for part in among),
        differences=tuple(tuple(one.estimate for one in row) for row in found),
        means=tuple(mean_ranking([row[place] for place in own]).estimate for row in found),
    )


def difference(base: tuple[np.ndarray, Ranking], other: tuple[np.ndarray, Ranking], among: Judged) -> Ranking:
    """The metric of one uncertainty (n,) minus that of another, among the answers that have both."""
    both = ~np.isnan(base[0]) & ~np.isnan(other[0])
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
    """M methods, by id, in G groups, the first of which is "all".

    `estimates` (M, G): PRR or ROC-AUC, higher is better. `means` (M,): the mean over the groups other than "all", as
    the paper's over data sets; where there are none it is that of all answers. `mean_ranks` (M,): the mean over the
    same groups of the method's rank, 1 being the best; nan where it is undefined in one of them. `paired`: RAUQ minus
    each other method, None where RAUQ is not among them.
    """

    metric: Metric
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]
    means: tuple[Estimate, ...]
    mean_ranks: np.ndarray
    paired: Paired | None

    @property
    def overall(self) -> tuple[Estimate, ...]:
        """The means (M,), or, where some group leaves all of them undefined, the estimates among all answers."""
        return overall(self.means, self.of_group(ALL))

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.estimates)


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
    parts = [
        judged(group, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed) for group in groups
    ]
    found = {method: [ranking(values[part.rows], part) for part in parts] for method, values in uncertainties.items()}
    estimates = tuple(tuple(one.estimate for one in row) for row in found.values())
    own = own_groups(tuple(group.name for group in groups))
    return Comparison(
        metric=metric,
        methods=tuple(methods),
        groups=tuple(group.name for group in groups),
        estimates=estimates,
        means=tuple(mean_ranking([row[place] for place in own]).estimate for row in found.values()),
        mean_ranks=_mean_ranks(estimates, own),
        paired=pair(RAUQ, uncertainties, found, parts, own) if RAUQ in methods else None,
    )


def marks(estimates: Sequence[Estimate]) -> np.ndarray:
    """Marks (M,) of the methods of a column: 1 the best, 2 the second, equal ones alike, else 0; never an undefined."""
    values = np.round([found.value for found in estimates], _EQUAL)
    first, second = [*np.unique(-values[~np.isnan(values)]), np.nan, np.nan][:2]
    return np.where(-values == first, 1, np.where(-values == second, 2, 0))


def own_groups(names: Sequence[str]) -> list[int]:
    """The places of the groups that a mean is over: all but "all", unless that is the only one."""
    return [place for place, name in enumerate(names) if name != ALL] or list(range(len(names)))


def _column(answers: pd.DataFrame, name: str) -> np.ndarray:
    if name not in answers:
        message = f"The answers have no column {name}; their columns are {', '.join(map(str, answers))}."
        raise InvalidInput(message)
    return answers[name].to_numpy(dtype=float)


def _mean_ranks(estimates: Sequence[Sequence[Estimate]], own: Sequence[int]) -> np.ndarray:
    placed = np.full((len(estimates), len(own)), np.nan)
    for column, place in enumerate(own):
        values = np.round([row[place].value for row in estimates], _EQUAL)
        there = ~np.isnan(values)
        placed[there, column] = ranks(-values[there])
    return placed.mean(axis=1)
