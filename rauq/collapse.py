"""What an answer's score was made of: margins of its heads, its collapse, and why a value is nan.

Confidence starts at s_1 and then falls towards alpha / (1 - (1 - alpha) a) even where the model is fully confident, so
its largest fall is nearly always the second token. Against the confidence of a fully confident model, that fall
cancels: what remains is the collapse, a measure of this project and not of the paper.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rauq.algorithm import confidence_of
from rauq.batch import Batch
from rauq.grid import Steps
from rauq.parts import NO_PART
from rauq.settings import MEAN_UPDATES, WITHOUT_ALPHA, Settings, Update


class Collapse(NamedTuple):
    """`collapse` (Lw, N) in nats, its `shares` (Lw, N, 2) of signal and attention, `sure_confidence` r (Lw, N)."""

    collapse: np.ndarray
    shares: np.ndarray
    sure_confidence: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Why the value of the same name in a `Score` is nan somewhere; an empty string where it is defined."""

    uncertainty: str
    confidence: str
    contributions: str
    collapse: str
    collapse_shares: str


def collapse_of(
    signal: np.ndarray, attention: np.ndarray, sure_signal: float, *, alpha: float, update: Update
) -> Collapse:
    """Collapse of one answer in each layer: log r_i - log c_i, and how much signal and attention each made of it.

    `signal` (N,), `attention` (Lw, N - 1) of the picked heads. r is the same recurrence with `sure_signal` (1, or
    log V) and each head's mean attention over the answer. The shares are Shapley values of two players: exchange
    one input for the sure one, in either order, and average. They sum to the collapse. All nan for the updates in
    WITHOUT_ALPHA; nan or infinite where a confidence is 0, and nan where it is negative.
    """
    mean_attention = attention.sum(axis=-1, keepdims=True) / max(1, attention.shape[-1])
    signals = np.stack([signal, np.full_like(signal, sure_signal)])  # (2, N): the answer's, the sure one
    attentions = np.stack([attention, np.broadcast_to(mean_attention, attention.shape)])  # (2, Lw, N - 1)
    confidence = confidence_of(signals[:, None, None], attentions, alpha=alpha, update=update)  # (2, 2, Lw, N)
    if update in WITHOUT_ALPHA:
        confidence = np.full_like(confidence, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(confidence)
        by_signal = (logs[1] - logs[0]).mean(axis=0)
        by_attention = (logs[:, 1] - logs[:, 0]).mean(axis=0)
        collapse = logs[1, 1] - logs[0, 0]
    return Collapse(collapse, np.stack([by_signal, by_attention], axis=-1), confidence[1, 1])


def margins(head_means: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """How far each layer's head lies above the best of its others: (Lw,), negative if it lies below.

    `head_means` (Lw, H), `heads` (Lw,). nan where no single head was picked (-1), and in layers of one head.
    """
    others = np.arange(head_means.shape[-1]) != heads[:, None]
    best_other = np.max(head_means, axis=-1, initial=-np.inf, where=others)
    own = np.take_along_axis(head_means, heads[:, None], axis=-1)[:, 0]
    return np.where((heads < 0) | np.isneginf(best_other), np.nan, own - best_other)


def why_uncertainty(steps: Steps, answers: Batch) -> np.ndarray:
    """Why each answer's uncertainty is nan: (A,) strings, empty where it is defined."""
    if not np.isnan(steps.uncertainty).any():
        return np.full(len(answers.lengths), "")
    within = steps.counted[:, None]
    unknown_signal = np.isnan(steps.signal[:, None]) & within
    unknown_attention = np.isnan(steps.attention) & within[..., 1:]
    negative = (steps.confidence < 0) & within
    unknown = unknown_signal.any(axis=(-2, -1)) | unknown_attention.any(axis=(-2, -1))
    empty = False if answers.empty is None else answers.empty
    too_short = (answers.lengths == 1) & (steps.settings.update in MEAN_UPDATES)
    return np.select(
        [~np.isnan(steps.uncertainty), empty, unknown, too_short, negative.any(axis=(-2, -1))],
        [
            "",
            NO_PART.get(answers.part, ""),
            "a log-probability, an entropy or an attention weight of this answer is nan",
            f"update={steps.settings.update!r} needs attention between tokens, and this answer has one token",
            "confidence falls below 0, where it has no logarithm",
        ],
        default="infinite terms cancel",
    )


def why_undefined(
    settings: Settings,
    uncertainty: str,
    *,
    confidence: np.ndarray,
    contributions: np.ndarray,
    collapse: np.ndarray,
    collapse_shares: np.ndarray,
) -> Reasons:
    """The reasons of one answer, given that of its uncertainty."""
    update = f"update={settings.update!r}"
    no_confidence = f"{update} has no confidence of tokens" if settings.update in MEAN_UPDATES else ""
    no_sum = "a median over tokens is not a sum of them" if settings.token_aggregation == "median" else ""
    no_layer = "a median over layers is no single layer's" if settings.layer_aggregation == "median" else ""
    no_flow = f"{update} carries no confidence onwards" if settings.update in WITHOUT_ALPHA else ""
    no_logarithm = "a confidence is 0 or less, where it has no finite logarithm"
    return Reasons(
        uncertainty=uncertainty,
        confidence=_first_if_nan(confidence, no_confidence, uncertainty),
        contributions=_first_if_nan(contributions, no_confidence, no_sum, no_layer, uncertainty),
        collapse=_first_if_nan(collapse, no_flow, no_layer, uncertainty, no_logarithm),
        collapse_shares=_first_if_nan(collapse_shares, no_flow, no_layer, uncertainty, no_logarithm),
    )


def _first_if_nan(values: np.ndarray, *reasons: str) -> str:
    return next(filter(None, reasons), "") if np.isnan(values).any() else ""
