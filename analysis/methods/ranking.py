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
from analysis.resampled import counts_of, resampled_prr, resampled_roc_auc

Metric = Literal["prr", "roc_auc"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The answers of a group, n of which can be judged, and R bootstrap resamples of those.

    `rows` (n,) are theirs in the run's table. `truth` (n,): their quality, or for ROC-AUC 1 where it is above the
    threshold, else 0. `counts` (n, R): how often each resample draws each. `size`: all answers of the group.
    """

    name: str
    metric: Metric
    rows: np.ndarray
    truth: np.ndarray
    counts: np.ndarray
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
    return Judged(name=group.name, metric=metric, rows=rows, truth=truth, counts=counts, size=len(group.rows))


def ranking(uncertainty: np.ndarray, among: Judged) -> Ranking:
    """Rank the judged answers by their uncertainty (n,); those without one are left out, of every resample too."""
    kept = is_defined(uncertainty, among.truth)
    plain, resampled = (prr, resampled_prr) if among.metric == "prr" else (roc_auc, resampled_roc_auc)
    value = plain(uncertainty, among.truth) if kept.any() else np.nan
    num_kept = int(kept.sum())
    if np.isnan(value):
        reason = why_undefined(uncertainty[kept], among.truth[kept])
        nothing = np.full(among.counts.shape[1], np.nan)
        return Ranking(Estimate(np.nan, np.nan, np.nan, num_kept, among.size - num_kept, reason), nothing)
    values = resampled(uncertainty, among.truth, among.counts)
    return Ranking(Estimate(value, *interval(values), num_kept, among.size - num_kept), values)


def mean_ranking(rankings: Sequence[Ranking]) -> Ranking:
    """The mean over groups, nan where it is undefined in one of them."""
    found = [one.estimate for one in rankings]
    n, excluded = sum(one.n for one in found), sum(one.excluded for one in found)
    # Groups of one size have been drawn by the same indices: put out of step, they are independent again.
    values = np.mean([np.roll(one.resampled, step) for step, one in enumerate(rankings)], axis=0)
    reason = next((one.reason for one in found if one.reason), "")
    value = float(np.mean([one.value for one in found]))
    return Ranking(Estimate(value, *interval(values), n, excluded, reason), values)
