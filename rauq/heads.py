"""Step 1 of Algorithm 1: in each layer, pick the head that attends most to the previous token."""

from collections.abc import Sequence

import numpy as np

from rauq.errors import InvalidInput
from rauq.settings import HeadRule

TOP = 5


def pick_heads(
    head_means: np.ndarray, layers: Sequence[int], heads: HeadRule | tuple[tuple[int, int], ...] = "max"
) -> np.ndarray:
    """The heads used in each layer (A, Lw, k), the one with the largest mean first (paper, equation 1).

    `head_means` (A, Lw, H) is the mean weight on the previous token, `layers` the Lw absolute layer indices.
    k is 1, min(5, H) for "top5" and H for "mean". Ties go to the lowest index, and so does an answer of one token,
    which has no previous token and uses no head.

    Raises:
        InvalidInput: fixed heads that miss a layer of the window, or a head that the model does not have.
    """
    num_answers, _, num_heads = head_means.shape
    if isinstance(heads, tuple):
        fixed = _fixed_heads(heads, layers, num_heads)  # (Lw,)
        return np.broadcast_to(fixed[:, None], (num_answers, len(layers), 1))
    if heads == "max":
        return head_means.argmax(axis=-1, keepdims=True)
    largest_first = -np.where(np.isnan(head_means), np.inf, head_means)  # nan first, as argmax has it: never hidden
    ranked = np.argsort(largest_first, axis=-1, kind="stable")
    return ranked[..., :TOP] if heads == "top5" else ranked


def head_weights(attention: np.ndarray, rows: np.ndarray, picked: np.ndarray) -> np.ndarray:
    """Previous-token weights of the picked heads: (A, Lw, k, N - 1) out of `attention` (A, L, H, N - 1).

    `rows` (Lw,) are positions on the layer axis of `attention`, `picked` (A, Lw, k) head indices.
    """
    answers = np.arange(len(attention))
    return attention[answers[:, None, None], rows[None, :, None], picked]


def margins(head_means: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """How far each layer's head lies above the best of its others: (Lw,), negative if it lies below.

    `head_means` (Lw, H), `heads` (Lw,). nan where no single head was picked (-1), and in layers of one head.
    """
    others = np.arange(head_means.shape[-1]) != heads[:, None]
    best_other = np.max(head_means, axis=-1, initial=-np.inf, where=others)
    own = np.take_along_axis(head_means, heads[:, None], axis=-1)[:, 0]
    return np.where((heads < 0) | np.isneginf(best_other), np.nan, own - best_other)


def _fixed_heads(heads: tuple[tuple[int, int], ...], layers: Sequence[int], num_heads: int) -> np.ndarray:
    head_of = dict(heads)
    missing = [layer for layer in layers if layer not in head_of]
    if missing:
        message = (
            f"heads names no head for layers {', '.join(map(str, missing))} of the window. "
            "Name one (layer, head) for each, or narrow layers to those that are named."
        )
        raise InvalidInput(message)
    if max(head_of.values()) >= num_heads:
        message = f"heads names head {max(head_of.values())}; this model has heads 0 to {num_heads - 1}."
        raise InvalidInput(message)
    return np.array([head_of[layer] for layer in layers])
