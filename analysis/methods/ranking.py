"""How well an uncertainty ranks the answers of one group, and on each of the resamples that all methods share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.estimate import Estimate, why_undefined
from analysis.methods.groups import Group
from analysis.metrics import interval, prr, resamples, roc_auc
from analysis.quality.judgement import Thresholds
from analysis.rejection import is_defined
from analysis.resampled import Bounds, bounds_of, counts_of, resampled_prr, resampled_roc_auc

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
        return f"all {len(truth)} answers are {'correct' if truth[0] else 'incorrect'}: nothing tells good from bad"
    return why_undefined(uncertainty, truth)
