"""Does attention matter here? RAUQ computed again with the picked heads' attention exchanged, all else unchanged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.metrics import divided
from rauq.algorithm import head_weights
from rauq.batch import Answers, Batch
from rauq.errors import InvalidInput
from rauq.grid import steps_of
from rauq.score import score_many
from rauq.settings import Settings

_Block = tuple[np.ndarray, Batch]  # places of some answers among all, and these answers


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """Uncertainties of the same A answers under real attention (A,) and under what was put in its place.

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
        message = f"heads is {settings.heads!r}: the control exchanges the attention of the picked head, heads='max'."
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
    """The blocks with these weights of each answer, (Lw, N - 1), as those of an only head."""
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
