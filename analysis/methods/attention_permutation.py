"""Does attention matter here? RAUQ computed again with the attention of its heads replaced, all else equal.

`control_groups` asks at the given settings, `sweep` at every alpha (paper, figure 4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from analysis.methods.comparison import (
    ALL,
    WITHIN,
    Group,
    JudgedGroups,
    Metric,
    Ranking,
    difference,
    judged_groups,
    ranking,
)
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, divided
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import head_weights, score_grid, steps_of
from rauq.scoring.score import collapse_many, score_many
from rauq.scoring.settings import Settings, Signal, signal_and_alpha
from rauq.trace.batch import Answers, Batch, Blocks
from rauq.trace.trace import Alignment

Exchange = Literal["shuffled", "constant", "random head", "mean of heads", "none"]
DERANGEMENTS = 20  # of the answers of each group; figures of shuffled attention are means over them


def _weights_of(answers: Answers, layers: tuple[int, ...], heads: np.ndarray) -> list[np.ndarray]:
    """Each answer's weights of one head a layer, (Lw, N - 1) out of A answers; `heads` (A, Lw)."""
    weights = [np.empty(0)] * len(heads)
    for places, block in answers.blocks():
        found = head_weights(block.attention, block.rows(layers), heads[places][..., None])[:, :, 0]
        for number, own, length in zip(places, found, block.lengths, strict=True):
            weights[number] = own[:, : length - 1].astype(np.float64)  # runs keep halves
    return weights


def _with_weights(answers: Answers, layers: tuple[int, ...], weights: Sequence[np.ndarray]) -> Blocks:
    """The answers with these weights of each, (Lw, N - 1), as those of a single head in each of the layers."""
    parts = tuple(
        (places, _lone_head(block, layers, [weights[at] for at in places])) for places, block in answers.blocks()
    )
    return Blocks(
        alignment=answers.alignment,
        kind=answers.kind,
        vocab_size=answers.vocab_size,
        layers=layers,
        num_layers=answers.num_layers,
        part=answers.part,
        batches=tuple(block for _, block in parts),
        places=tuple(places for places, _ in parts),
    )


def _lone_head(block: Batch, layers: tuple[int, ...], weights: Sequence[np.ndarray]) -> Batch:
    attention = np.full((len(block.lengths), len(layers), 1, block.attention.shape[-1]), np.nan)
    for row, own in zip(attention, weights, strict=True):
        row[:, 0, : own.shape[1]] = own
    return replace(block, attention=attention, layers=layers)


class _Drawn(NamedTuple):
    """What is drawn for A answers of a group: a head of each layer, (A, Lw), and whose weights each takes, (S, A)."""

    heads: np.ndarray
    donors: np.ndarray


def _drawn(answers: Answers, layers: int, *, derangements: int, seed: int) -> _Drawn:
    """The same draws for every setting of alpha, signal and tokens, so that one quantity has one value."""
    rng = np.random.default_rng(seed)
    num_heads = next(block.attention.shape[2] for _, block in answers.blocks())
    heads = rng.integers(num_heads, size=(len(answers.lengths), layers))
    return _Drawn(heads, np.stack([_donors(answers.lengths, rng) for _ in range(derangements)]))


def _shuffled(weights: Sequence[np.ndarray], donors: np.ndarray) -> list[np.ndarray]:
    """Give each answer the weights of its donor, cut or repeated to its own length; nan where there is none, -1."""
    return [
        np.full_like(own, np.nan) if donor < 0 else _repeated(weights[donor], own.shape[1])
        for own, donor in zip(weights, donors, strict=True)
    ]


def _repeated(weights: np.ndarray, length: int) -> np.ndarray:
    times = -(-length // weights.shape[1])
    return (weights if times < 2 else np.tile(weights, times))[:, :length]


def _donors(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whose weights each answer takes (A,), never its own: those of nearest length swap theirs, in twos and threes.

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
    derangements: int = DERANGEMENTS,
    seed: int = 0,
) -> Control:
    """Score one group of answers under each exchange; the maximum over layers is taken after it.

    `tokens` (A, N) restricts the score to some tokens of each answer: confidence flows through all of them, but the
    mean of -log c is over these alone, nan where an answer has none.

    Raises:
        InvalidInput: settings that do not pick the head of largest mean, or restricted ones without a mean of logs.
    """
    _check_heads(settings)
    found = score_many(answers, settings)
    weights = _weights_of(answers, found.layers, found.heads)
    drawn = _drawn(answers, len(found.layers), derangements=derangements, seed=seed)

    def rescored(exchanged: Sequence[np.ndarray]) -> np.ndarray:
        lone = _with_weights(answers, found.layers, exchanged)
        return _scored(lone, replace(settings, layers=found.layers), tokens)

    return Control(
        real=_scored(answers, settings, tokens),
        shuffled=np.stack([rescored(_shuffled(weights, donors)) for donors in drawn.donors]),
        constant=rescored(_constant(weights)),
        random_head=rescored(_weights_of(answers, found.layers, drawn.heads)),
        mean_of_heads=_scored(answers, replace(settings, heads="mean"), tokens),
    )


def _check_heads(settings: Settings) -> None:
    if settings.heads != "max":
        message = (
            f"heads is {settings.heads!r}: the control replaces the attention of the selected head; use heads='max'."
        )
        raise InvalidInput(message)


def collapse_exchanged(
    answers: Answers, settings: Settings, *, derangements: int = DERANGEMENTS, seed: int = 0
) -> Mapping[Exchange, tuple[tuple[np.ndarray, ...], ...]]:
    """The collapse of the tokens of each answer under other attention, as in `control`: by exchange, draw and answer.

    Raises:
        InvalidInput: as `control`.
    """
    _check_heads(settings)
    found = score_many(answers, settings)
    weights = _weights_of(answers, found.layers, found.heads)
    drawn = _drawn(answers, len(found.layers), derangements=derangements, seed=seed)

    def collapse(exchanged: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        lone = _with_weights(answers, found.layers, exchanged)
        return collapse_many(lone, replace(settings, layers=found.layers))

    return {
        "shuffled": tuple(collapse(_shuffled(weights, donors)) for donors in drawn.donors),
        "constant": (collapse(_constant(weights)),),
    }


def control_of_groups(
    answers: Answers,
    settings: Settings,
    names: Sequence[str],
    *,
    tokens: np.ndarray | None = None,
    derangements: int = DERANGEMENTS,
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
    seed: int = 0,
) -> tuple[GroupControl, ...]:
    """Exchange attention within the group of each answer, `names` (A,), and compare in every one of `groups`.

    `facts` (A, N) are the tokens that the score is restricted to. `settings` are the paper's unless given.

    Raises:
        InvalidInput: settings that the control does not know, or that do not fit the answers.
    """
    settings = replace(settings or Settings(), alignment=answers.alignment)
    found = control_of_groups(answers, settings, names, tokens=facts, seed=seed)
    # A group without a score has no answers to judge, so that the mean within groups leaves it out.
    scored = np.where(np.isnan(found.real), np.nan, quality)
    among = judged_groups(groups, scored, metric=metric, thresholds=thresholds)
    real = _rank_parts(found.real, among)
    kinds = [_exchanged(name, (found.real, real), rows, among) for name, rows in _replaced(found).items()]
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
    if facts is None:
        return tuple(controls)
    lacking = {group.name for group in groups if np.isnan(found.real[group.rows]).all()}
    lacking |= {WITHIN} if ALL in lacking else set()
    return tuple(_without_facts(one) if one.group in lacking else one for one in controls)


def _replaced(found: Control) -> dict[Exchange, np.ndarray]:
    """Uncertainties (S, A) under each exchange."""
    return {
        "shuffled": found.shuffled,
        "constant": found.constant[None],
        "random head": found.random_head[None],
        "mean of heads": found.mean_of_heads[None],
    }


def _rank_parts(uncertainty: np.ndarray, among: JudgedGroups) -> list[Ranking]:
    """Rank the answers of every part by their uncertainty (A,), or by each of S of them (S, A)."""
    return [ranking(uncertainty[..., part.rows], part) for part in among.parts]


def _exchanged(
    exchange: Exchange, real: tuple[np.ndarray, Sequence[Ranking]], others: np.ndarray, among: JudgedGroups
) -> tuple[Exchanged, ...]:
    """Compare the uncertainty under real attention, (A,) with its rankings, with that under S exchanges (S, A)."""
    own, ranked = real
    others = np.where(np.isnan(own), np.nan, others)
    instead = _rank_parts(others, among)
    lost = [
        difference((own[part.rows], one), (others[:, part.rows], other), part)
        for part, one, other in zip(among.parts, ranked, instead, strict=True)
    ]
    both = zip(among.reported(instead), among.reported(lost), strict=True)
    return tuple(Exchanged(exchange=exchange, estimate=one.estimate, difference=minus.estimate) for one, minus in both)


def _without_facts(control: GroupControl) -> GroupControl:
    """The control of a group where no answer has a score on its fact tokens, which is then why all is undefined."""
    others = (
        replace(
            one, estimate=replace(one.estimate, reason=NO_FACTS), difference=replace(one.difference, reason=NO_FACTS)
        )
        for one in control.exchanged
    )
    return replace(control, real=replace(control.real, reason=NO_FACTS), exchanged=tuple(others))


ALPHAS = tuple(step / 10 for step in range(11))
_Cell = TypeVar("_Cell")
REPLACED: tuple[Exchange, ...] = ("shuffled", "constant", "none")


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """PRR or ROC-AUC of RAUQ with one signal, in G groups, at `alphas` (11,) from 0 to 1.

    `groups`: "all", then, where there are several, the mean within groups, and each of these. `real` (G, 11): with the
    attention of the selected heads. `exchanged`: (G, 11) for each of REPLACED, with the real attention's minus it.
    With "none" it is the value at alpha 1, where attention is not used: with the probability signal, perplexity.
    `paper_alpha` is the paper's for this signal and the model's kind.
    """

    alignment: Alignment
    signal: Signal
    metric: Metric
    alphas: tuple[float, ...]
    paper_alpha: float
    groups: tuple[str, ...]
    real: tuple[tuple[Estimate, ...], ...]
    exchanged: Mapping[Exchange, tuple[tuple[Exchanged, ...], ...]]

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (11,) of one group with real attention."""
        return self.real[self.groups.index(group)]

    def under(self, exchange: Exchange, group: str) -> tuple[Exchanged, ...]:
        """What one exchange does in one group: (11,)."""
        return self.exchanged[exchange][self.groups.index(group)]

    def best(self, group: str) -> float | None:
        """The alpha of the highest value in a group, the lowest of equals; None where all are undefined."""
        values = np.array([found.value for found in self.of_group(group)])
        return None if np.isnan(values).all() else self.alphas[int(np.nanargmax(values))]


def sweep(
    answers: Answers,
    quality: np.ndarray,
    names: Sequence[str],
    groups: Sequence[Group],
    *,
    signal: Signal,
    metric: Metric,
    thresholds: Thresholds,
    seed: int = 0,
) -> Sweep:
    """Score A answers at every alpha under each attention, and rank them by their quality (A,).

    Attention is exchanged within the group of each answer, `names` (A,).

    Raises:
        InvalidInput: a batch without the kind of its model, or without the middle layers.
    """
    scores = score_sweep(answers, names, signal=signal, seed=seed)
    real = scores["real"][:, 0]
    among = judged_groups(groups, quality, metric=metric, thresholds=thresholds)
    ranked = [_rank_parts(row, among) for row in real]
    return Sweep(
        alignment=answers.alignment,
        signal=signal,
        metric=metric,
        alphas=ALPHAS,
        paper_alpha=signal_and_alpha(Settings(signal=signal), answers.kind)[1],
        groups=among.names,
        real=_by_group([one.estimate for one in among.reported(row)] for row in ranked),
        exchanged={
            name: _by_group(
                _exchanged(name, (own, rows), other, among)
                for own, rows, other in zip(real, ranked, scores[name], strict=True)
            )
            for name in REPLACED
        },
    )


def score_sweep(
    answers: Answers, names: Sequence[str], *, signal: Signal, seed: int = 0
) -> dict[Exchange | Literal["real"], np.ndarray]:
    """Uncertainty of A answers at every alpha, (11, S, A): S is DERANGEMENTS for "shuffled", else 1.

    The heads selected by the real attention are used under every exchange.
    """
    found = score_many(answers, Settings(alpha=1.0, signal=signal, alignment=answers.alignment))
    grid = [replace(found.settings, alpha=alpha, layers=found.layers) for alpha in ALPHAS]
    weights = _weights_of(answers, found.layers, found.heads)
    groups = [np.flatnonzero(np.asarray(names) == name) for name in np.unique(names)]
    drawn = partial(_drawn, layers=len(found.layers), derangements=DERANGEMENTS, seed=seed)
    donors = [drawn(answers.take(rows)).donors for rows in groups]

    def scored(several: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        lone = [_with_weights(answers, found.layers, one) for one in several]
        return np.stack([score_grid(one, grid) for one in lone], axis=1)

    of_groups = [[weights[row] for row in rows] for rows in groups]
    shuffled = (map(_shuffled, of_groups, turn) for turn in zip(*donors, strict=True))
    constant = map(_constant, of_groups)
    real = scored([weights])
    return {
        "real": real,
        "shuffled": scored([_in_order(groups, one) for one in shuffled]),
        "constant": scored([_in_order(groups, constant)]),
        "none": np.broadcast_to(real[-1], real.shape),
    }


def _in_order(groups: Sequence[np.ndarray], found: Iterable[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """What was found for the answers of each group, in the order of all answers."""
    each = [one for several in found for one in several]
    return [each[place] for place in np.argsort(np.concatenate(groups))]


def _by_group(rows: Iterable[Sequence[_Cell]]) -> tuple[tuple[_Cell, ...], ...]:
    return tuple(zip(*rows, strict=True))
