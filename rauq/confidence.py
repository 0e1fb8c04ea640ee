"""Step 2 of Algorithm 1: confidence flows from token to token through attention (paper, equation 2).

    c_1 = s_1
    c_i = alpha * s_i + (1 - alpha) * a_i * c_{i-1}

s_i is the signal of token i (its probability, or log V minus its entropy) and a_i the attention to the token before.
"""

import numpy as np

from rauq.errors import InvalidInput
from rauq.settings import Signal, Update

RECENT = 5
_SMALLEST = 1e-10  # the reference adds it to the entropy signal and to the mean that it divides by


def signal_of(logprobs: np.ndarray, entropies: np.ndarray, vocab_size: int | None, signal: Signal) -> np.ndarray:
    """How sure the model is of each token (..., N): exp(logprob), or log V - entropy in nats.

    The entropy signal may exceed 1. It is at least 1e-10, the term that the reference adds, so that its logarithm
    exists: float32 may round an entropy to just above log V.

    Raises:
        InvalidInput: the entropy signal without `vocab_size`, the width V of the logits.
    """
    if signal == "probability":
        return np.exp(logprobs, dtype=np.float64)
    if vocab_size is None:
        message = "signal='entropy' needs entropies and vocab_size, the width of the logits; give both."
        raise InvalidInput(message)
    return np.maximum(np.log(vocab_size) - entropies.astype(np.float64), 0.0) + _SMALLEST


def confidence_of(signal: np.ndarray, attention: np.ndarray, *, alpha: float, update: Update = "rauq") -> np.ndarray:
    """Confidence c (..., N) from the signal (..., N) and the attention to the previous token (..., N - 1).

    Leading axes broadcast: answers and layers run side by side, tokens one after the other. The updates other than
    "rauq" are the paper's ablations. `mean_product` and `mean_sum` have no confidence of single tokens: nan.
    """
    now, before = signal[..., 1:], signal[..., :-1]
    match update:
        case "no_recurrence":
            return _after_first(signal, alpha * now + (1 - alpha) * attention)
        case "previous_probability":
            return _after_first(signal, alpha * now + (1 - alpha) * attention * before)
        case "product":
            return _after_first(signal, now * attention)
        case "mean_product" | "mean_sum":
            return np.full(_shape(signal, attention), np.nan)
        case _:
            return _recurrence(signal, _gate(attention, update), alpha)


def _recurrence(signal: np.ndarray, gate: np.ndarray, alpha: float) -> np.ndarray:
    confidence = np.empty(_shape(signal, gate))
    confidence[..., 0] = signal[..., 0]
    for i in range(1, confidence.shape[-1]):
        inflow = gate[..., i - 1] * confidence[..., i - 1]
        confidence[..., i] = alpha * signal[..., i] + (1 - alpha) * inflow
    return confidence


def _gate(attention: np.ndarray, update: Update) -> np.ndarray:
    """What takes the place of a_i in the recurrence: under "rauq" the attention itself."""
    match update:
        case "no_attention":
            return np.ones_like(attention)
        case "minus_mean":
            return attention - _running_mean(attention)
        case "minus_recent_mean":
            return attention - _running_mean(attention, RECENT)
        case "ratio_to_mean":
            return attention / (_running_mean(attention) + _SMALLEST)
        case _:
            return attention


def _after_first(signal: np.ndarray, rest: np.ndarray) -> np.ndarray:
    first = np.broadcast_to(signal[..., :1], (*rest.shape[:-1], 1))
    return np.concatenate([first, rest], axis=-1)


def _running_mean(attention: np.ndarray, recent: int | None = None) -> np.ndarray:
    """Mean of the weights so far, the current one included, or of the last `recent` of them."""
    totals = np.cumsum(attention, axis=-1)
    counts = np.arange(1, attention.shape[-1] + 1)
    if recent is not None:
        totals[..., recent:] = totals[..., recent:] - totals[..., :-recent]
        counts = np.minimum(counts, recent)
    return totals / counts


def _shape(signal: np.ndarray, attention: np.ndarray) -> tuple[int, ...]:
    return *np.broadcast_shapes(signal.shape[:-1], attention.shape[:-1]), signal.shape[-1]
