"""Where confidence collapses: an answer's confidence against that of a model which is sure of every token.

Confidence starts at s_1 and then falls towards alpha / (1 - (1 - alpha) a) however sure the model is, so its largest
fall is nearly always the second token. Measured against a sure model, that fall cancels.
"""

from typing import NamedTuple

import numpy as np

from rauq.confidence import confidence_of
from rauq.settings import MEAN_UPDATES, Update

NO_COLLAPSE: tuple[Update, ...] = ("product", *MEAN_UPDATES)  # nothing flows from token to token


class Collapse(NamedTuple):
    """`collapse` (Lw, N) in nats, its `shares` (Lw, N, 2) of signal and attention, `sure_confidence` r (Lw, N)."""

    collapse: np.ndarray
    shares: np.ndarray
    sure_confidence: np.ndarray


def collapse_of(
    signal: np.ndarray, attention: np.ndarray, sure_signal: float, *, alpha: float, update: Update
) -> Collapse:
    """Collapse of one answer in each layer: log r_i - log c_i, and how much signal and attention each made of it.

    `signal` (N,), `attention` (Lw, N - 1) of the picked heads. r is the same recurrence with `sure_signal` (1, or
    log V) and each head's mean attention over the answer. The shares are Shapley values of two players: exchange
    one input for the sure one, in either order, and average. They sum to the collapse. All nan for the updates in
    NO_COLLAPSE; nan or infinite where a confidence is 0, and nan where it is negative.
    """
    mean_attention = attention.sum(axis=-1, keepdims=True) / max(1, attention.shape[-1])
    signals = np.stack([signal, np.full_like(signal, sure_signal)])  # (2, N): the answer's, the sure one
    attentions = np.stack([attention, np.broadcast_to(mean_attention, attention.shape)])  # (2, Lw, N - 1)
    confidence = confidence_of(signals[:, None, None], attentions, alpha=alpha, update=update)  # (2, 2, Lw, N)
    if update in NO_COLLAPSE:
        confidence = np.full_like(confidence, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(confidence)
        by_signal = (logs[1] - logs[0]).mean(axis=0)
        by_attention = (logs[:, 1] - logs[:, 0]).mean(axis=0)
        collapse = logs[1, 1] - logs[0, 0]
    return Collapse(collapse, np.stack([by_signal, by_attention], axis=-1), confidence[1, 1])
