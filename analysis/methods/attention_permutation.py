"""Does attention matter here? RAUQ computed again with the attention of its heads permuted, all else equal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from analysis.methods.comparison import Group, Judged, Metric, judged, ranking
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, divided, interval
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import head_weights, steps_of
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import Answers, Batch
from rauq.trace.trace import Alignment

_Block = tuple[np.ndarray, Batch]  # places of some answers among all, and these answers


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
    blocks, rng = tuple(answers.blocks()), np.random.default_rng(seed)
    found, num_heads = score_many(answers, settings), blocks[0][1].attention.shape[2]
    layers, count = found.layers, len(found.heads)
    weights = _weights(blocks, layers, found.heads)
    drawn = rng.integers(num_heads, size=found.heads.shape)

    def rescored(exchanged: Sequence[np.ndarray]) -> np.ndarray:
        return _scored(_exchanged(blocks, layers, exchanged), replace(settings, layers=layers), tokens, count)

    return Control(
        real=_scored(blocks, settings, tokens, count),
        shuffled=np.stack([rescored(_shuffled(weights, answers.lengths, rng)) for _ in range(derangements)]),
        constant=rescored(_constant(weights)),
        random_head=rescored(_weights(blocks, layers, drawn)),
        mean_of_heads=_scored(blocks, replace(settings, heads="mean"), tokens, count),
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


def _scored(blocks: Iterable[_Block], settings: Settings, tokens: np.ndarray | None, count: int) -> np.ndarray:
    """Uncertainty (A,) of `count` answers."""
    uncertainty = np.empty(count)
    for places, block in blocks:
        chosen = None if tokens is None else tokens[places, : block.logprobs.shape[1]]
        uncertainty[places] = steps_of(block, settings, counted=chosen).uncertainty
    return uncertainty


def _weights(blocks: Sequence[_Block], layers: tuple[int, ...], heads: np.ndarray) -> list[np.ndarray]:
    """Each answer's weights of one head a layer, (Lw, N - 1); `heads` (A, Lw)."""
    weights = [np.empty(0)] * len(heads)
    for places, block in blocks:
        found = head_weights(block.attention, block.rows(layers), heads[places][..., None])[:, :, 0]
        for number, own, length in zip(places, found, block.lengths, strict=True):
            weights[number] = own[:, : length - 1].astype(np.float64)  # runs keep halves
    return weights


def _exchanged(blocks: Sequence[_Block], layers: tuple[int, ...], weights: Sequence[np.ndarray]) -> Iterator[_Block]:
    """The blocks with these weights of each answer, (Lw, N - 1), as those of a single head."""
    for places, block in blocks:
        attention = np.full((len(block.lengths), len(layers), 1, block.attention.shape[-1]), np.nan)
        for row, number in enumerate(places):
            attention[row, :, 0, : weights[number].shape[1]] = weights[number]
        yield places, replace(block, attention=attention, layers=layers)


def _shuffled(weights: Sequence[np.ndarray], lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Give each answer the weights of another of nearest length, cut or repeated to its own; nan if there is none."""
    return [
        np.full_like(own, np.nan) if donor < 0 else _repeated(weights[donor], own.shape[1])
        for own, donor in zip(weights, _donors(lengths, rng), strict=True)
    ]


def _repeated(weights: np.ndarray, length: int) -> np.ndarray:
    times = -(-length // weights.shape[1])
    return (weights if times < 2 else np.tile(weights, times))[:, :length]


def _donors(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whose weights each answer takes (A,), never its own: neighbours by length swap theirs, in twos and threes.

    An answer of one token has no weights to give or take, -1.
    """
    order = np.lexsort((rng.random(len(lengths)), lengths))
    left = order[lengths[order] > 1].tolist()
    donors = np.full(len(lengths), -1)
    while len(left) > 1:
        size = len(left) if len(left) <= 3 else rng.integers(2, min(4, len(left) - 1))  # never one left over
        takers, left = left[:size], left[size:]
        turn = rng.integers(1, size)
        donors[takers] = takers[turn:] + takers[:turn]
    return donors


def _constant(weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Give every token the mean weight of its layer over all answers."""
    together = np.concatenate(weights, axis=1)
    known = np.isfinite(together)
    means = divided(np.where(known, together, 0.0).sum(axis=1), known.sum(axis=1))
    return [np.where(np.isnan(own), np.nan, means[:, None]) for own in weights]


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
            _without_group(name, real, others[:, among.rows], among, reason=reason) for name, others in rows.items()
        ),
    )


def _without_group(
    exchange: Exchange, real: np.ndarray, others: np.ndarray, among: Judged, *, reason: str
) -> Exchanged:
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
