"""Which heads are selected, and whether they are the same in all groups (paper, analysis of head selection)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import shown_groups
from analysis.stats import divided

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

    def of_layers(self, layers: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """The most frequent head of each of these layers, as (layer, head); a layer without one is left out."""
        return tuple((layer, head) for layer in layers for head, _ in self.most_frequent(layer, most=1))


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
