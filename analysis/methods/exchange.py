"""Replacing the attention of the selected heads by that of another answer or by its mean."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.stats import divided
from rauq.scoring.algorithm import head_weights
from rauq.trace.batch import Answers, Batch, Blocks


def weights_of(answers: Answers, layers: tuple[int, ...], heads: np.ndarray) -> list[np.ndarray]:
    """Each answer's weights of one head a layer, (Lw, N - 1) out of A answers; `heads` (A, Lw)."""
    weights = [np.empty(0)] * len(heads)
    for places, block in answers.blocks():
        found = head_weights(block.attention, block.rows(layers), heads[places][..., None])[:, :, 0]
        for number, own, length in zip(places, found, block.lengths, strict=True):
            weights[number] = own[:, : length - 1].astype(np.float64)  # runs keep halves
    return weights


def with_weights(answers: Answers, layers: tuple[int, ...], weights: Sequence[np.ndarray]) -> Blocks:
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


def shuffled(weights: Sequence[np.ndarray], lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
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


def constant(weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Give every token the mean weight of its layer over all answers."""
    together = np.concatenate(weights, axis=1)
    known = np.isfinite(together)
    means = divided(np.where(known, together, 0.0).sum(axis=1), known.sum(axis=1))
    return [np.where(np.isnan(own), np.nan, means[:, None]) for own in weights]
