"""What the control says of a group: how well RAUQ ranks its answers, and how much of that an exchange takes away."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from analysis.estimate import Estimate
from analysis.methods.control import Control, control_of_groups
from analysis.methods.groups import Group
from analysis.methods.ranking import Judged, Metric, judged, ranking
from analysis.metrics import interval
from analysis.quality.judgement import Thresholds
from rauq.batch import Answers
from rauq.settings import Settings
from rauq.trace import Alignment

Exchange = Literal["shuffled", "constant", "random head", "mean of heads"]
TokensScored = Literal["all", "fact"]
EXCHANGES = MappingProxyType[Exchange, str](
    {
        "shuffled": "another answer's",
        "constant": "constant",
        "random head": "a random head's",
        "mean of heads": "the heads' mean",
    }
)
"""Whose attention takes the place of the picked head's, in words."""
NO_FACTS = "of none of these answers it is known which tokens carry the fact"


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """RAUQ with other attention put in, as PRR or ROC-AUC, and `difference`: the real attention's minus it.

    Both are of the answers that have a score either way. Of "shuffled" they are means over its derangements.
    """

    exchange: Exchange
    estimate: Estimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class GroupControl:
    """RAUQ in one group with its `real` attention and under each exchange, over all tokens or those of the fact."""

    group: str
    alignment: Alignment
    metric: Metric
    tokens: TokensScored
    real: Estimate
    exchanged: tuple[Exchanged, ...]

    def under(self, exchange: Exchange) -> Exchanged:
        """What one exchange does."""
        return next(one for one in self.exchanged if one.exchange == exchange)


def control_groups(
    answers: Answers,
    quality: np.ndarray,
    names: Sequence[str],
    groups: Sequence[Group],
    *,
    metric: Metric,
    thresholds: Thresholds,
    facts: np.ndarray | None = None,
    settings: Settings | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[GroupControl, ...]:
    """Exchange attention within the group of each answer, `names` (A,), and compare in every one of `groups`.

    `facts` (A, N) are the tokens that the score is restricted to. `settings` are the paper's unless given. The same
    resamples serve the real attention and every exchange.

    Raises:
        InvalidInput: settings that the control does not know, or that do not fit the answers.
    """
    settings = replace(settings or Settings(), alignment=answers.alignment)
    found = control_of_groups(answers, settings, names, tokens=facts, seed=seed)
    return tuple(
        _of_group(
            found,
            judged(group, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed),
            alignment=answers.alignment,
            tokens="all" if facts is None else "fact",
        )
        for group in groups
    )


def _of_group(found: Control, among: Judged, *, alignment: Alignment, tokens: TokensScored) -> GroupControl:
    real = found.real[among.rows]
    rows: dict[Exchange, np.ndarray] = {
        "shuffled": found.shuffled,
        "constant": found.constant[None],
        "random head": found.random_head[None],
        "mean of heads": found.mean_of_heads[None],
    }
    own = ranking(real, among).estimate
    reason = NO_FACTS if tokens == "fact" and np.isnan(real).all() else ""
    return GroupControl(
        group=among.name,
        alignment=alignment,
        metric=among.metric,
        tokens=tokens,
        real=replace(own, reason=reason or own.reason),
        exchanged=tuple(
            _exchanged(name, real, others[:, among.rows], among, reason=reason) for name, others in rows.items()
        ),
    )


def _exchanged(exchange: Exchange, real: np.ndarray, others: np.ndarray, among: Judged, *, reason: str) -> Exchanged:
    """Compare the uncertainty under real attention (n,) with that under S exchanges of a kind (S, n)."""
    both = ~np.isnan(real) & ~np.isnan(others).any(axis=0)
    base = ranking(np.where(both, real, np.nan), among)
    ranked = [ranking(np.where(both, other, np.nan), among) for other in others]
    mean = float(np.mean([one.estimate.value for one in ranked]))
    resampled = np.mean([one.resampled for one in ranked], axis=0)
    like = replace(base.estimate, reason=reason or base.estimate.reason)
    return Exchanged(
        exchange=exchange,
        estimate=_estimate(mean, resampled, like),
        difference=_estimate(base.estimate.value - mean, base.resampled - resampled, like),
    )


def _estimate(value: float, resampled: np.ndarray, like: Estimate) -> Estimate:
    """A value of the same answers as `like`."""
    low, high = interval(resampled)
    return replace(like, value=value, low=low, high=high)
