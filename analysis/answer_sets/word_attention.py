"""Is it the head, or the words? The attention of each head that is expected from the tokens and their positions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.clusters import FOLDS
from rauq.trace.batch import Answers

PRIOR = 1.0  # tokens: how many observations the value that an expectation is shrunk to counts for
_ROUNDS = 5  # of taking pairs and positions from one another


@dataclass(frozen=True, eq=False, kw_only=True)
class WordAttention:
    """Attention expected from words, of A answers, L' layers and H heads.

    `expected` (A, L', H): the mean over an answer's tokens of what their position adds in the head, plus the head's
    mean attention for the same pair of tokens, previous and current, in other answers, shrunk to its mean after the
    same previous token, and that to the head's mean. `residual` (A, L', H): the mean over the tokens whose pair other
    answers have of the attention minus that of their position and that of the pair in other answers, which is not
    shrunk: no part of it is due to words; nan for an answer without such a token. `unseen` (A,): the share of an
    answer's pairs that no other answer has. All are nan for an answer of one token. `layers` are absolute.
    """

    layers: tuple[int, ...]
    expected: np.ndarray
    residual: np.ndarray
    unseen: np.ndarray

    @property
    def num_mostly_unseen(self) -> int:
        """How many answers have more unseen than seen pairs."""
        return int((self.unseen > 0.5).sum())


def word_attention(answers: Answers, ids: Sequence[np.ndarray], fold: np.ndarray) -> WordAttention:
    """The attention expected of the token ids of each answer (N,), from the answers of other folds (A,)."""
    sizes = np.array([max(len(own) - 1, 0) for own in ids])
    owner = np.repeat(np.arange(len(ids)), sizes)
    position = _Kinds.of(np.concatenate([np.arange(size) for size in sizes]))
    previous = np.concatenate([own[:-1] for own in ids]).astype(np.int64)
    current = np.concatenate([own[1:] for own in ids]).astype(np.int64)
    pairs = _Occurrences.of(np.stack([previous, current], axis=1), fold[owner])
    before = _Occurrences.of(previous[:, None], fold[owner])
    num_heads = next(block.attention.shape[2] for _, block in answers.blocks())
    expected, residual = np.full((2, len(ids), len(answers.layers), num_heads), np.nan)
    known = pairs.seen > 0
    for layer in range(len(answers.layers) if len(owner) else 0):
        weights = _weights(answers, layer, ids)
        of_position = _of_position(weights, position, pairs)
        rest = weights - of_position
        after = _shrunk(rest, before, rest.mean(axis=0))
        expected[:, layer] = _mean_of(of_position + _shrunk(rest, pairs, after), owner, len(ids))
        matched = rest[known] - pairs.elsewhere(rest)[known] / pairs.seen[known, None]
        residual[:, layer] = _mean_of(matched, owner[known], len(ids))
    unseen = _mean_of((~known).astype(float)[:, None], owner, len(ids))[:, 0]
    return WordAttention(layers=answers.layers, expected=expected, residual=residual, unseen=unseen)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """The `kind` of each of T tokens, from 0 on; `order` sorts the tokens by it, and each kind `starts` there."""

    kind: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray) -> "_Kinds":
        kind = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(kind, kind="stable")
        return cls(kind, order, np.flatnonzero(np.diff(kind[order], prepend=-1)))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the values (T, H) of its kind, of each token (T, H)."""
        return np.asarray(np.add.reduceat(values[self.order], self.starts, axis=0)[self.kind])

    @property
    def count(self) -> np.ndarray:
        """How many tokens are of its kind, of each (T,)."""
        return np.bincount(self.kind)[self.kind]


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """The kind of each of T tokens, in all folds and in its `own`, and how often the kind occurs in other folds."""

    whole: _Kinds
    own: _Kinds
    seen: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray, fold: np.ndarray) -> "_Occurrences":
        whole = _Kinds.of(keys)
        own = _Kinds.of(whole.kind * FOLDS + fold)
        return cls(whole, own, whole.count - own.count)

    def elsewhere(self, weights: np.ndarray) -> np.ndarray:
        """The sum of the weights (T, H) of the same kind in other folds."""
        return self.whole.sums(weights) - self.own.sums(weights)


def _of_position(weights: np.ndarray, position: _Kinds, pairs: _Occurrences) -> np.ndarray:
    """What a token's position adds to the weights (T, H), besides its pair of tokens: least squares of both, in turn.

    A pair that occurs once says nothing of its position.
    """
    repeated = (pairs.whole.count > 1)[:, None]
    count = np.maximum(position.sums(repeated.astype(float)), 1)
    found = np.zeros_like(weights)
    for _ in range(_ROUNDS):
        of_pair = pairs.whole.sums(weights - found) / pairs.whole.count[:, None]
        found = position.sums(np.where(repeated, weights - of_pair, 0.0)) / count
        found -= found.mean(axis=0)
    return found


def _shrunk(weights: np.ndarray, where: _Occurrences, towards: np.ndarray) -> np.ndarray:
    """Mean of the weights (T, H) of the same kind in other folds, shrunk towards (T, H) or (H,)."""
    return np.asarray((where.elsewhere(weights) + PRIOR * towards) / (where.seen[:, None] + PRIOR))


def _mean_of(values: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """Means (A, H) of the rows (T, H) of each of `count` owners; nan where one has none."""
    found = np.full((count, values.shape[1]), np.nan)
    if len(owner):
        there, starts, sizes = np.unique(owner, return_index=True, return_counts=True)
        found[there] = np.add.reduceat(values, starts, axis=0) / sizes[:, None]
    return found


def _weights(answers: Answers, layer: int, ids: Sequence[np.ndarray]) -> np.ndarray:
    """Weights (T, H) of a layer's heads on the previous token, of all tokens that have one, in the order of answers."""
    found: dict[int, np.ndarray] = {}
    for places, block in answers.blocks():
        for row, place in enumerate(places.tolist()):
            found[place] = block.attention[row, layer, :, : max(len(ids[place]) - 1, 0)].T
    return np.concatenate([found[place] for place in range(len(ids))]).astype(np.float64)
