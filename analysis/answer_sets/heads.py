"""Which heads are selected, and which separate correct from incorrect answers (paper, analysis of head selection)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides, shown_groups
from analysis.stats import divided, ranks

NO_HEAD = -1


def pick(means: np.ndarray) -> np.ndarray:
    """Index of the largest mean along the last axis of `means` (..., H), the lowest among equal ones (paper, eq. 1).

    -1 where a mean is undefined, as in an answer of one token.
    """
    undefined = np.isnan(means).any(axis=-1)
    return np.where(undefined, NO_HEAD, np.where(np.isnan(means), -np.inf, means).argmax(axis=-1))


def of_selected(means: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """The mean of the selected head: `means` (..., H) at `picks` (...), nan where no head is selected."""
    taken = np.take_along_axis(means, np.maximum(picks, 0)[..., None], axis=-1)[..., 0]
    return np.where(picks == NO_HEAD, np.nan, taken)


@dataclass(frozen=True, eq=False)
class SelectedHeads:
    """Share of answers in which each head is selected: `shares` (L, H), out of `counts` (L,) with one in the layer."""

    layers: tuple[int, ...]
    counts: np.ndarray
    shares: np.ndarray

    def most_frequent(self, layer: int, *, most: int = 3) -> tuple[tuple[int, float], ...]:
        """Selected heads of a layer with their shares, the most frequent first, the lowest among equals."""
        shares = self.shares[self.layers.index(layer)]
        ranked = np.argsort(-shares, kind="stable")[:most]
        return tuple((int(head), float(shares[head])) for head in ranked if shares[head] > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement:
    """Whether the same heads are selected in G groups and L layers.

    `heads` (L,) are the most frequent of all answers, -1 in a layer where none is selected, and `shares` (G, L) in how
    many answers of a group they are selected. `group_heads` (G, L) are the most frequent of each group.
    """

    groups: tuple[str, ...]
    layers: tuple[int, ...]
    heads: np.ndarray
    shares: np.ndarray
    group_heads: np.ndarray


def selected_heads(picks: np.ndarray, layers: Sequence[int], num_heads: int) -> SelectedHeads:
    """Count the picks (A, L) of each layer; -1, no head, counts nowhere. Shares of no answer are nan."""
    times = (picks[..., None] == np.arange(num_heads)).sum(axis=0)  # (L, H)
    counts = times.sum(axis=1)
    return SelectedHeads(tuple(layers), counts, divided(times, np.broadcast_to(counts[:, None], times.shape)))


def agreement(picks: np.ndarray, groups: Sequence[str], layers: Sequence[int], num_heads: int) -> Agreement:
    """Compare the picks (A, L) of the largest groups that the answers (A,) belong to, in the order of their names."""
    names = shown_groups(groups) or sorted(set(groups))
    each = [selected_heads(picks[[group == name for group in groups]], layers, num_heads) for name in names]
    heads = _top(selected_heads(picks, layers, num_heads))
    return Agreement(
        groups=tuple(names),
        layers=tuple(layers),
        heads=heads,
        shares=np.array([one.shares[np.arange(len(layers)), heads] for one in each]),
        group_heads=np.array([_top(one) for one in each]),
    )


def _top(heads: SelectedHeads) -> np.ndarray:
    return np.where(heads.counts > 0, np.nan_to_num(heads.shares).argmax(axis=1), -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Separation:
    """Area under the ROC curve of each head's mean attention: `auc` (L, H).

    The probability that a correct answer has more attention than an incorrect one: 0.5 is chance, and below it
    incorrect answers have more. A head's strength is its distance from 0.5. `best` is the (row, head) of the
    strongest, and `chance` the distance that the strongest of all heads exceeds in 5 of 100 random labellings of the
    same answers, which corrects for multiple comparisons. Without both sides all is nan, `best` None.
    """

    auc: np.ndarray
    num_correct: int
    num_incorrect: int
    excluded: int
    best: tuple[int, int] | None
    chance: float
    reason: str

    @property
    def strength(self) -> float:
        """Distance of the best head from 0.5."""
        return float("nan") if self.best is None else float(abs(self.auc[self.best] - 0.5))

    @property
    def beyond_chance(self) -> bool:
        """Whether the best head is stronger than the best of as many heads under 95 of 100 random labellings."""
        return self.strength > self.chance


def separation(means: np.ndarray, sides: Sides, *, permutations: int = 500, seed: int = 0) -> Separation:
    """Compare the sides in each head of `means` (A, L, H); answers with an undefined mean are left out."""
    on_a_side = sides.correct | sides.incorrect
    kept = on_a_side & np.isfinite(means).all(axis=(1, 2))
    correct = sides.correct[kept]
    num_correct, num_incorrect = int(correct.sum()), int((~correct).sum())
    counts = {"num_correct": num_correct, "num_incorrect": num_incorrect, "excluded": int((on_a_side & ~kept).sum())}
    if missing := [side for side, n in (("correct", num_correct), ("incorrect", num_incorrect)) if not n]:
        nothing = np.full(means.shape[1:], np.nan)
        reason = f"no {' and no '.join(missing)} answer has attention"
        return Separation(auc=nothing, **counts, best=None, chance=float("nan"), reason=reason)
    ranked = np.array([ranks(values) for values in means[kept].reshape(len(correct), -1).T])  # (L * H, A)
    distance = _distances(ranked, correct[None])[0].reshape(means.shape[1:])
    best = np.unravel_index(int(np.abs(distance).argmax()), distance.shape)
    return Separation(
        auc=0.5 + distance,
        **counts,
        best=(int(best[0]), int(best[1])),
        chance=_strongest_by_chance(ranked, correct, permutations, seed),
        reason="",
    )


def _distances(ranked: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Area under the curve minus 0.5 of each labelling (P, A) for each head's ranks (K, A): (P, K)."""
    size, num_correct = ranked.shape[1], labels[0].sum()
    centred = ranked - (size + 1) / 2
    return labels.astype(ranked.dtype) @ centred.T / (num_correct * (size - num_correct))


def _strongest_by_chance(ranked: np.ndarray, correct: np.ndarray, permutations: int, seed: int) -> float:
    labels = np.random.default_rng(seed).permuted(np.tile(correct, (permutations, 1)), axis=1)
    half = ranked.astype(np.float32)  # twice as fast, and exact to a millionth
    return float(np.quantile(np.abs(_distances(half, labels)).max(axis=1), 0.95))
