"""Which heads are picked, how often, and whether the groups of a run agree on them (paper, head selection analysis)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.groups import shown_groups
from analysis.metrics import divided


@dataclass(frozen=True, eq=False)
class PickedHeads:
    """Share of the answers that pick each head: `shares` (L, H), out of `counts` (L,) that pick one in that layer."""

    layers: tuple[int, ...]
    counts: np.ndarray
    shares: np.ndarray

    def most_frequent(self, layer: int, *, most: int = 3) -> tuple[tuple[int, float], ...]:
        """Heads of a layer with their shares, the most frequent first, the lowest among equals; none never picked."""
        shares = self.shares[self.layers.index(layer)]
        ranked = np.argsort(-shares, kind="stable")[:most]
        return tuple((int(head), float(shares[head])) for head in ranked if shares[head] > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement:
    """Whether G groups pick the same heads in L layers.

    `heads` (L,) are the most frequent of all answers, -1 in a layer where none is picked, and `shares` (G, L) how many
    answers of a group pick them. `group_heads` (G, L) are the most frequent of each group.
    """

    groups: tuple[str, ...]
    layers: tuple[int, ...]
    heads: np.ndarray
    shares: np.ndarray
    group_heads: np.ndarray


def picked_heads(picks: np.ndarray, layers: Sequence[int], num_heads: int) -> PickedHeads:
    """Count the picks (A, L) of each layer; -1, no head, counts nowhere. Shares of no answer are nan."""
    times = (picks[..., None] == np.arange(num_heads)).sum(axis=0)  # (L, H)
    counts = times.sum(axis=1)
    return PickedHeads(tuple(layers), counts, divided(times, np.broadcast_to(counts[:, None], times.shape)))


def agreement(picks: np.ndarray, groups: Sequence[str], layers: Sequence[int], num_heads: int) -> Agreement:
    """Compare the picks (A, L) of the largest groups that the answers (A,) belong to, in the order of their names."""
    names = shown_groups(groups) or sorted(set(groups))
    each = [picked_heads(picks[[group == name for group in groups]], layers, num_heads) for name in names]
    heads = _top(picked_heads(picks, layers, num_heads))
    return Agreement(
        groups=tuple(names),
        layers=tuple(layers),
        heads=heads,
        shares=np.array([one.shares[np.arange(len(layers)), heads] for one in each]),
        group_heads=np.array([_top(one) for one in each]),
    )


def _top(heads: PickedHeads) -> np.ndarray:
    return np.where(heads.counts > 0, np.nan_to_num(heads.shares).argmax(axis=1), -1)
