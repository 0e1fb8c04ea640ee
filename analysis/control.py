"""Does attention matter here? RAUQ computed again with the picked heads' attention exchanged, all else unchanged."""

from dataclasses import dataclass, replace

import numpy as np

import rauq
from rauq.batch import Batch
from rauq.settings import Settings


@dataclass(frozen=True)
class Control:
    """Uncertainties of the same A answers under real attention (A,) and under what was put in its place.

    `shuffled` (S, A): the weights of another answer, in each of S seeded derangements; nan for the only answer of two
    or more tokens, which has no other. `constant`: the mean weight of
    each layer. `random_head`: a head drawn for each answer and layer. `mean_of_heads`: the mean over all heads.
    """

    real: np.ndarray
    shuffled: np.ndarray
    constant: np.ndarray
    random_head: np.ndarray
    mean_of_heads: np.ndarray


def control(answers: Batch, settings: Settings, *, derangements: int = 20, seed: int = 0) -> Control:
    """Score one group of answers under each exchange; settings must use the single head of largest mean."""
    scores = rauq.score_many(answers, settings)
    rng = np.random.default_rng(seed)
    weights = _weights(answers, scores.layers, scores.heads)
    drawn = rng.integers(answers.attention.shape[2], size=scores.heads.shape)

    def rescored(exchanged: np.ndarray) -> np.ndarray:
        single = replace(answers, attention=exchanged[:, :, None, :], layers=scores.layers)
        return rauq.score_many(single, replace(settings, layers=scores.layers)).uncertainty

    return Control(
        real=scores.uncertainty,
        shuffled=np.stack([rescored(_shuffled(weights, answers.lengths, rng)) for _ in range(derangements)]),
        constant=rescored(_constant(weights)),
        random_head=rescored(_weights(answers, scores.layers, drawn)),
        mean_of_heads=rauq.score_many(answers, replace(settings, heads="mean")).uncertainty,
    )


def _weights(answers: Batch, layers: tuple[int, ...], heads: np.ndarray) -> np.ndarray:
    """Return the weights of one head for each answer and layer: (A, Lw, N - 1); `heads` (A, Lw)."""
    number = np.arange(len(answers.attention))[:, None]
    return answers.attention[number, answers.rows(layers)[None, :], heads]


def _shuffled(weights: np.ndarray, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give each answer the weights of another of nearest length, cut or repeated to its own; nan if there is none."""
    exchanged = np.full_like(weights, np.nan)
    order = np.lexsort((rng.random(len(lengths)), lengths))
    order = order[lengths[order] > 1]  # an answer of one token has no weights to give or take
    if len(order) < 2:
        return exchanged
    columns = np.arange(weights.shape[-1])
    for taker, donor in zip(order, np.roll(order, rng.choice((-1, 1))), strict=True):
        repeated = weights[donor][:, columns % (lengths[donor] - 1)]
        exchanged[taker] = np.where(columns < lengths[taker] - 1, repeated, np.nan)
    return exchanged


def _constant(weights: np.ndarray) -> np.ndarray:
    means = np.nanmean(weights, axis=(0, 2), keepdims=True)
    return np.where(np.isnan(weights), np.nan, means)
