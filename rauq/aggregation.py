"""Step 3 of Algorithm 1: from the confidence of tokens to one number (paper, equations 3 and 4).

Arrays cover A answers, padded to the longest; `lengths` (A,) says how many tokens each one has.
"""

import numpy as np

from rauq.settings import LayerAggregation, TokenAggregation, Update


def within_answer(per_token: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """True on the tokens of each answer and False in the padding; broadcasts against `per_token` (A, ..., N)."""
    last = lengths.reshape(-1, *[1] * (per_token.ndim - 1))
    return np.arange(per_token.shape[-1]) < last


def contributions_of(confidence: np.ndarray, lengths: np.ndarray, aggregation: TokenAggregation) -> np.ndarray:
    """What each token adds to the score of its layer: (A, Lw, N), 0 in the padding; nan for "median"."""
    if aggregation == "median":
        return np.full_like(confidence, np.nan)
    return (0.0 - _summands(confidence, lengths, aggregation)) / _divisor(lengths, aggregation)[..., None]


def layer_scores(confidence: np.ndarray, lengths: np.ndarray, aggregation: TokenAggregation) -> np.ndarray:
    """u_l (A, Lw): minus the mean, sum or median over tokens of (log) confidence.

    The reference implementation has 1 more; the paper, and this, have not. A sure answer scores 0 and not -0.
    """
    if aggregation == "median":
        return 0.0 - _median(confidence, lengths)
    sums = _summands(confidence, lengths, aggregation).sum(axis=-1)
    return (0.0 - sums) / _divisor(lengths, aggregation)


def _summands(confidence: np.ndarray, lengths: np.ndarray, aggregation: TokenAggregation) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 = -inf; log of a negative confidence = nan
        values = confidence.copy() if aggregation == "mean" else np.log(confidence)
    np.copyto(values, 0.0, where=~within_answer(confidence, lengths))
    return values


def _divisor(lengths: np.ndarray, aggregation: TokenAggregation) -> np.ndarray:
    return np.ones_like(lengths)[:, None] if aggregation == "sum_log" else lengths[:, None]


def mean_update_scores(signal: np.ndarray, weights: np.ndarray, lengths: np.ndarray, update: Update) -> np.ndarray:
    """u_l (A, Lw) of `mean_product` and `mean_sum`: means of log signal and of log attention, no recurrence.

    `signal` (A, N), `weights` (A, Lw, k, N - 1) of the k picked heads. nan for an answer of one token.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 = -inf; inf * 0 and 0 / 0 = nan
        log_signal = np.where(within_answer(signal, lengths), np.log(signal), 0.0).sum(axis=-1) / lengths
        log_weights = np.log(weights, dtype=np.float64).mean(axis=2)  # (A, Lw, N - 1)
        log_weights = np.where(within_answer(log_weights, lengths - 1), log_weights, 0.0).sum(axis=-1)
        log_weight = log_weights / (lengths[:, None] - 1)
        if update == "mean_product":
            return log_signal[:, None] * log_weight
        return 0.0 - (log_signal[:, None] + log_weight)


def combine_layers(scores: np.ndarray, aggregation: LayerAggregation) -> np.ndarray:
    """Uncertainty (A,) from the layers' scores (A, Lw); nan in one layer is nan in the answer."""
    with np.errstate(invalid="ignore"):  # inf - inf = nan
        match aggregation:
            case "max":
                return scores.max(axis=-1)
            case "mean":
                return scores.mean(axis=-1)
            case "median":
                return np.median(scores, axis=-1)


def _median(confidence: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    within = within_answer(confidence, lengths)
    ordered = np.sort(np.where(within, confidence, np.inf), axis=-1)
    halves = [((lengths - 1) // 2)[:, None, None], (lengths // 2)[:, None, None]]
    lower, upper = (np.take_along_axis(ordered, half, axis=-1)[..., 0] for half in halves)
    undefined = (np.isnan(confidence) & within).any(axis=-1)
    return np.where(undefined, np.nan, (lower + upper) / 2)
