"""Is it the head, or the words? The attention of each head that is expected from the tokens of an answer alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides
from rauq.trace.batch import Answers

FOLDS = 10
PRIOR = 1.0  # tokens: how many observations the value that an expectation is shrunk to counts for


@dataclass(frozen=True, eq=False, kw_only=True)
class WordAttention:
    """Attention expected from words, of A answers, L' layers and H heads.

    `expected` (A, L', H): the mean over an answer's tokens of the head's mean attention for the same pair of tokens,
    previous and current, in other answers, shrunk to its mean after the same previous token, and that to the head's
    mean. `unseen` (A,): the share of an answer's pairs that no other answer has. Both are nan for an answer of one
    token. `layers` are absolute.
    """

    layers: tuple[int, ...]
    expected: np.ndarray
    unseen: np.ndarray

    @property
    def num_mostly_unseen(self) -> int:
        """How many answers have more unseen than seen pairs."""
        return int((self.unseen > 0.5).sum())


def folds(groups: Sequence[str] | np.ndarray, sides: Sides, *, count: int = FOLDS, seed: int = 0) -> np.ndarray:
    """A fold (A,) for each answer, as many of each group and side in each as can be.

    Leaving out single answers would give two answers of the same words different expectations, against their labels.
    """
    _, group = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    shuffled = np.random.default_rng(seed).permutation(len(group))
    order = np.lexsort((shuffled, sides.correct, sides.incorrect, group))
    found = np.empty(len(group), dtype=np.int64)
    found[order] = np.arange(len(group)) % count
    return found


def word_attention(answers: Answers, ids: Sequence[np.ndarray], fold: np.ndarray) -> WordAttention:
    """The attention expected of the token ids of each answer (N,), from the answers of other folds (A,)."""
    owner = np.concatenate([np.full(max(len(own) - 1, 0), place) for place, own in enumerate(ids)]).astype(np.int64)
    previous = np.concatenate([own[:-1] for own in ids]).astype(np.int64)
    current = np.concatenate([own[1:] for own in ids]).astype(np.int64)
    pairs = _occurrences(np.stack([previous, current], axis=1), fold[owner])
    before = _occurrences(previous[:, None], fold[owner])
    num_heads = next(block.attention.shape[2] for _, block in answers.blocks())
    expected = np.full((len(ids), len(answers.layers), num_heads), np.nan)
    for layer in range(len(answers.layers) if len(owner) else 0):
        weights = _weights(answers, layer, ids)
        after = _shrunk(weights, before, weights.mean(axis=0))
        expected[:, layer] = _mean_of(_shrunk(weights, pairs, after), owner, len(ids))
    unseen = _mean_of((pairs.seen == 0).astype(float)[:, None], owner, len(ids))[:, 0]
    return WordAttention(layers=answers.layers, expected=expected, unseen=unseen)


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """The kind of each of T tokens, the same within its fold, and how often the kind occurs in other folds."""

    kind: np.ndarray
    own: np.ndarray
    seen: np.ndarray


def _occurrences(keys: np.ndarray, fold: np.ndarray) -> _Occurrences:
    kind = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    own = np.unique(kind * FOLDS + fold, return_inverse=True)[1].reshape(-1)
    return _Occurrences(kind, own, np.bincount(kind)[kind] - np.bincount(own)[own])


def _shrunk(weights: np.ndarray, where: _Occurrences, towards: np.ndarray) -> np.ndarray:
    """Mean of the weights (T, H) of the same kind in other folds, shrunk towards (T, H) or (H,)."""
    elsewhere = _sums(weights, where.kind)[where.kind] - _sums(weights, where.own)[where.own]
    return np.asarray((elsewhere + PRIOR * towards) / (where.seen[:, None] + PRIOR))


def _sums(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Sums of rows (T, H) by their place, which takes all values from 0 to the largest."""
    order = np.argsort(place, kind="stable")
    return np.add.reduceat(values[order], np.flatnonzero(np.diff(place[order], prepend=-1)), axis=0)


def _mean_of(values: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """Means (A, H) of the rows (T, H) of each of `count` owners; nan where one has none."""
    found = np.full((count, values.shape[1]), np.nan)
    there, place = np.unique(owner, return_inverse=True)
    if len(there):
        found[there] = _sums(values, place) / np.bincount(place)[:, None]
    return found


def _weights(answers: Answers, layer: int, ids: Sequence[np.ndarray]) -> np.ndarray:
    """Weights (T, H) of a layer's heads on the previous token, of all tokens that have one, in the order of answers."""
    found: dict[int, np.ndarray] = {}
    for places, block in answers.blocks():
        for row, place in enumerate(places.tolist()):
            found[place] = block.attention[row, layer, :, : max(len(ids[place]) - 1, 0)].T
    return np.concatenate([found[place] for place in range(len(ids))]).astype(np.float64)
