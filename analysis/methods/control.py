"""Does attention matter here? RAUQ computed again with the picked heads' attention exchanged, all else unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.metrics import divided
from rauq.batch import Batch
from rauq.errors import InvalidInput
from rauq.grid import steps_of
from rauq.settings import Settings


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
    answers: Batch,
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
    real = steps_of(answers, settings, counted=tokens)
    rng = np.random.default_rng(seed)
    weights = _weights(answers, real.layers, real.picked[..., 0])
    drawn = rng.integers(answers.attention.shape[2], size=weights.shape[:2])

    def rescored(exchanged: np.ndarray) -> np.ndarray:
        single = replace(answers, attention=exchanged[:, :, None, :], layers=real.layers)
        return steps_of(single, replace(settings, layers=real.layers), counted=tokens).uncertainty

    return Control(
        real=real.uncertainty,
        shuffled=np.stack([rescored(_shuffled(weights, answers.lengths, rng)) for _ in range(derangements)]),
        constant=rescored(_constant(weights)),
        random_head=rescored(_weights(answers, real.layers, drawn)),
        mean_of_heads=steps_of(answers, replace(settings, heads="mean"), counted=tokens).uncertainty,
    )


def control_of_groups(
    answers: Batch,
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


def _weights(answers: Batch, layers: tuple[int, ...], heads: np.ndarray) -> np.ndarray:
    """Return the weights of one head for each answer and layer: (A, Lw, N - 1); `heads` (A, Lw)."""
    number = np.arange(len(answers.attention))[:, None]
    return answers.attention[number, answers.rows(layers)[None, :], heads].astype(np.float64)  # runs keep halves


def _shuffled(weights: np.ndarray, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give each answer the weights of another of nearest length, cut or repeated to its own; nan if there is none."""
    donors, columns = _donors(lengths, rng), np.arange(weights.shape[-1])
    repeated = columns % np.maximum(lengths[donors] - 1, 1)[:, None]
    there = (columns < lengths[:, None] - 1) & (donors >= 0)[:, None]
    given = np.take_along_axis(weights[donors], repeated[:, None], axis=-1)
    return np.where(there[:, None], given, np.nan)


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


def _constant(weights: np.ndarray) -> np.ndarray:
    known = np.isfinite(weights)
    means = divided(np.where(known, weights, 0.0).sum(axis=(0, 2)), known.sum(axis=(0, 2)))
    return np.where(np.isnan(weights), np.nan, means[:, None])
