"""Does attention matter here? RAUQ computed again with the attention of its heads permuted, all else equal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from analysis.methods import exchange
from analysis.methods.comparison import Group, JudgedGroups, Metric, Ranking, difference, judged_groups, ranking
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import steps_of
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import Answers
from rauq.trace.trace import Alignment


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """Uncertainties of the same A answers under real attention (A,) and under each replacement.

    `shuffled` (S, A): the weights of another answer, in each of S seeded derangements; nan for the only answer of two
    or more tokens, which has no other. `constant`: the mean weight of each layer. `random_head`: a head drawn for each
    answer and layer. `mean_of_heads`: the mean over all heads.
    """

    real: np.ndarray
    shuffled: np.ndarray
    constant: np.ndarray
    random_head: np.ndarray
    mean_of_heads: np.ndarray


def control(
    answers: Answers,
    settings: Settings,
    *,
    tokens: np.ndarray | None = None,
    derangements: int = 20,
    seed: int = 0,
) -> Control:
    """Score one group of answers under each exchange; the maximum over layers is taken after it.

    `tokens` (A, N) restricts the score to some tokens of each answer: confidence flows through all of them, but the
    mean of -log c is over these alone, nan where an answer has none.

    Raises:
        InvalidInput: settings that do not pick the head of largest mean, or restricted ones without a mean of logs.
    """
    if settings.heads != "max":
        message = (
            f"heads is {settings.heads!r}: the control replaces the attention of the selected head; use heads='max'."
        )
        raise InvalidInput(message)
    rng, found = np.random.default_rng(seed), score_many(answers, settings)
    num_heads = next(block.attention.shape[2] for _, block in answers.blocks())
    weights = exchange.weights_of(answers, found.layers, found.heads)
    drawn = rng.integers(num_heads, size=found.heads.shape)

    def rescored(exchanged: Sequence[np.ndarray]) -> np.ndarray:
        lone = exchange.with_weights(answers, found.layers, exchanged)
        return _scored(lone, replace(settings, layers=found.layers), tokens)

    return Control(
        real=_scored(answers, settings, tokens),
        shuffled=np.stack([rescored(exchange.shuffled(weights, answers.lengths, rng)) for _ in range(derangements)]),
        constant=rescored(exchange.constant(weights)),
        random_head=rescored(exchange.weights_of(answers, found.layers, drawn)),
        mean_of_heads=_scored(answers, replace(settings, heads="mean"), tokens),
    )


def control_of_groups(
    answers: Answers,
    settings: Settings,
    names: Sequence[str],
    *,
    tokens: np.ndarray | None = None,
    derangements: int = 20,
    seed: int = 0,
) -> Control:
    """The control of every group, given the group of each answer (A,): what is exchanged stays within it.

    Raises:
        InvalidInput: as `control`.
    """
    real, constant, random_head, mean_of_heads = np.full((4, len(names)), np.nan)
    shuffled = np.full((derangements, len(names)), np.nan)
    for name in np.unique(names):
        rows = np.flatnonzero(np.asarray(names) == name)
        chosen = None if tokens is None else tokens[rows]
        found = control(answers.take(rows), settings, tokens=chosen, derangements=derangements, seed=seed)
        real[rows], constant[rows], random_head[rows] = found.real, found.constant, found.random_head
        mean_of_heads[rows], shuffled[:, rows] = found.mean_of_heads, found.shuffled
    return Control(
        real=real, shuffled=shuffled, constant=constant, random_head=random_head, mean_of_heads=mean_of_heads
    )


def _scored(answers: Answers, settings: Settings, tokens: np.ndarray | None) -> np.ndarray:
    """Uncertainty (A,), over these tokens alone where they are given."""
    uncertainty = np.empty(len(answers.lengths))
    for places, block in answers.blocks():
        chosen = None if tokens is None else tokens[places, : block.logprobs.shape[1]]
        uncertainty[places] = steps_of(block, settings, counted=chosen).uncertainty
    return uncertainty


Exchange = Literal["shuffled", "constant", "random head", "mean of heads", "none"]
TokensScored = Literal["all", "fact"]
EXCHANGES = MappingProxyType[Exchange, str](
    {
        "shuffled": "another answer's",
        "constant": "constant",
        "random head": "a random head's",
        "mean of heads": "the heads' mean",
        "none": "no",
    }
)
"""The attention that replaces that of the selected head, in words."""
NO_FACTS = "the fact tokens of these answers are not known"


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """RAUQ with replaced attention, as PRR or ROC-AUC, and `difference`: the real attention's minus it.

    Both use the answers that have a score either way. For "shuffled" they are means over its derangements.
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
    # A group without a score has no answers to judge, so that the mean within groups leaves it out.
    scored = np.where(np.isnan(found.real), np.nan, quality)
    among = judged_groups(groups, scored, metric=metric, thresholds=thresholds, count=resamples, seed=seed)
    real = rank_parts(found.real, among)
    kinds = [exchanged(name, (found.real, real), rows, among) for name, rows in _replaced(found).items()]
    controls = (
        GroupControl(
            group=group,
            alignment=answers.alignment,
            metric=metric,
            tokens="all" if facts is None else "fact",
            real=one.estimate,
            exchanged=tuple(others),
        )
        for group, one, *others in zip(among.names, among.reported(real), *kinds, strict=True)
    )
    return tuple(map(_explained, controls))


def _replaced(found: Control) -> dict[Exchange, np.ndarray]:
    """Uncertainties (S, A) under each exchange."""
    return {
        "shuffled": found.shuffled,
        "constant": found.constant[None],
        "random head": found.random_head[None],
        "mean of heads": found.mean_of_heads[None],
    }


def rank_parts(uncertainty: np.ndarray, among: JudgedGroups) -> list[Ranking]:
    """Rank the answers of every part by their uncertainty (A,), or by each of S of them (S, A)."""
    return [ranking(uncertainty[..., part.rows], part) for part in among.parts]


def exchanged(
    exchange: Exchange, real: tuple[np.ndarray, Sequence[Ranking]], others: np.ndarray, among: JudgedGroups
) -> tuple[Exchanged, ...]:
    """Compare the uncertainty under real attention, (A,) with its rankings, with that under S exchanges (S, A)."""
    own, ranked = real
    others = np.where(np.isnan(own), np.nan, others)
    instead = rank_parts(others, among)
    lost = [
        difference((own[part.rows], one), (others[:, part.rows], other), part)
        for part, one, other in zip(among.parts, ranked, instead, strict=True)
    ]
    both = zip(among.reported(instead), among.reported(lost), strict=True)
    return tuple(Exchanged(exchange=exchange, estimate=one.estimate, difference=minus.estimate) for one, minus in both)


def _explained(found: GroupControl) -> GroupControl:
    """Where no answer has a score on its fact tokens, say so instead of naming what else is undefined."""
    if found.tokens == "all" or found.real.n or not found.real.reason:
        return found
    others = (
        replace(
            one, estimate=replace(one.estimate, reason=NO_FACTS), difference=replace(one.difference, reason=NO_FACTS)
        )
        for one in found.exchanged
    )
    return replace(found, real=replace(found.real, reason=NO_FACTS), exchanged=tuple(others))
