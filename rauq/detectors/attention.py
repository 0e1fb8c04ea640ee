"""Detectors of attention: LookBackLens, Head Entropy and TAD, all linear regressions.

LookBackLens (Chuang et al., 2024): logistic, on how much each head attends to the prompt. Head Entropy (arXiv
2602.13699), as its paper's supervised form: logistic, on how widely each head attends. TAD: a ridge regression of each
token's correctness on its attention to earlier tokens and on their own values.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rauq.detectors.checks import is_number, is_whole, require, require_array, require_features
from rauq.detectors.hidden_states import probability
from rauq.errors import InvalidInput, NotCaptured
from rauq.trace.extras import extra_of
from rauq.trace.file import MOST_BANDS
from rauq.trace.trace import Extra, Trace

OFFSETS = 10

AGGREGATIONS = ("mean", "sum_log")
_IN_LOGARITHM = 1e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class Tad:
    """A fitted TAD (Vazhentsev et al., 2024, Unconditional Truthfulness).

    `weights` (D,) belong to the columns of `design`, D = (L H + 3) n + 1, where n is `offsets`.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    weights: np.ndarray
    intercept: float
    offsets: int
    aggregation: str

    def __post_init__(self) -> None:
        fits = is_whole(self.offsets, 1, MOST_BANDS)
        require(fits=fits, name="offsets", got=self.offsets, allowed=f"a whole number from 1 to {MOST_BANDS:,}")
        require_array(self.weights, (None,), name="weights")
        columns = len(self.weights) - 1 - 3 * self.offsets
        fits = columns > 0 and columns % self.offsets == 0
        allowed = "as many as 1 + offsets * (layers * heads + 3)"
        require(fits=fits, name="the number of weights", got=len(self.weights), allowed=allowed)
        require(fits=is_number(self.intercept), name="intercept", got=self.intercept, allowed="a finite number")
        fits = self.aggregation in AGGREGATIONS
        require(fits=fits, name="aggregation", got=self.aggregation, allowed=" or ".join(AGGREGATIONS))

    def token_values(self, features: np.ndarray) -> np.ndarray:
        """How correct each token is taken to be, 0 to 1: (N,), of an answer's `features`.

        Raises:
            InvalidInput: features of another shape, or not all finite.
        """
        columns = (len(self.weights) - 1 - 3 * self.offsets) // self.offsets
        require_features(features, (None, self.offsets, columns + 1), method="TAD")
        fixed = fixed_part(features, self.weights, self.intercept)
        return free_run(fixed, probabilities_of(features), self.weights, self.offsets)

    def value(self, features: np.ndarray) -> float:
        """The uncertainty of an answer of N tokens; of a single token, a function of its probability alone.

        Raises:
            InvalidInput: features of another shape, or not all finite.
        """
        return float(aggregated(self.token_values(features), self.aggregation))


def tad_features(trace: Trace, *, offsets: int = OFFSETS) -> np.ndarray:
    """Weights on the keys of the n = `offsets` tokens before each token, and its probability: (N, n, L H + 1), float32.

    Of each offset the weights of the query that predicts the token, by layer, then head, 0 where the key is not of the
    answer; in the last column the probability of the token, the same at each offset.

    Raises:
        NotCaptured: the trace has fewer offsets, or lacks weights of some.
    """
    num_layers, num_heads, _, captured = trace.attention.shape
    num_tokens = len(trace.answer_ids)
    inside = np.arange(num_tokens)[:, None] >= np.arange(1, offsets + 1)
    rows = np.moveaxis(trace.attention[:, :, :num_tokens, :offsets], (2, 3), (0, 1))  # (N, n, L, H)
    if captured < offsets or np.isnan(rows[inside]).any():
        message = (
            f"TAD needs the attention to the {offsets} tokens before each token, and this trace lacks some of it. "
            f"Generate the answer again with offsets={offsets}, and keep all layers where it is stored."
        )
        raise NotCaptured(message)
    found = np.empty((num_tokens, offsets, num_layers * num_heads + 1), dtype=np.float32)
    found[..., :-1] = np.where(inside[..., None, None], rows, 0).reshape(num_tokens, offsets, -1)
    found[..., -1] = np.exp(trace.logprobs)[:, None]
    return found


def probabilities_of(features: np.ndarray) -> np.ndarray:
    """The probabilities (N,) of the tokens."""
    return features[:, 0, -1].astype(np.float64)


def design(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The columns of the regression (N, D) for tokens with the given `values` (N,), which stand for g below.

    In order: weights on the keys of the tokens before (n L H), p_t, p_{t-1} to p_{t-n}, g_{t-1} to g_{t-n}, and
    p_t g_{t-1} to p_t g_{t-n}; 0 before the first token.
    """
    before = lagged(values, features.shape[1])
    return np.column_stack([_fixed_columns(features), before, probabilities_of(features)[:, None] * before])


def fixed_part(features: np.ndarray, weights: np.ndarray, intercept: np.ndarray | float) -> np.ndarray:
    """The part of the regression that no token value enters: (..., N), of `weights` (..., D) and `intercept` (...)."""
    given = weights[..., : -2 * features.shape[1]] @ _fixed_columns(features).T
    return given + np.asarray(intercept)[..., None]


def free_run(fixed: np.ndarray, probabilities: np.ndarray, weights: np.ndarray, offsets: int) -> np.ndarray:
    """Token values g (..., N), each from those before it: g_0 = p_0, then the regression, clipped to [0, 1].

    `fixed` (..., N) is `fixed_part`, `probabilities` (..., N), `weights` (..., D); leading axes are broadcast.
    """
    own, products = weights[..., -2 * offsets : -offsets], weights[..., -offsets:]
    found = np.zeros((*fixed.shape[:-1], offsets + fixed.shape[-1]))
    found[..., offsets] = probabilities[..., 0]
    for token in range(1, fixed.shape[-1]):
        before = found[..., token : offsets + token][..., ::-1]  # g_{t-1} to g_{t-n}
        step = (before * (own + probabilities[..., token, None] * products)).sum(axis=-1)
        found[..., offsets + token] = np.clip(fixed[..., token] + step, 0, 1)
    return found[..., offsets:]


def aggregated(values: np.ndarray, aggregation: str) -> np.ndarray:
    """The uncertainty (...) of answers with token values (..., N): minus their mean, or minus the sum of their logs.

    Raises:
        InvalidInput: unknown aggregation.
    """
    if aggregation == "mean":
        return -values.mean(axis=-1)
    if aggregation == "sum_log":
        return -np.log(values + _IN_LOGARITHM).sum(axis=-1)
    message = f"Unknown aggregation {aggregation!r}; choose one of {', '.join(AGGREGATIONS)}."
    raise InvalidInput(message)


def lagged(values: np.ndarray, offsets: int) -> np.ndarray:
    """Values (N,) of the tokens 1 to n before each token: (N, n), 0 before the first token."""
    padded = np.concatenate([np.zeros(offsets), values[:-1]])
    return sliding_window_view(padded, offsets)[:, ::-1]


def _fixed_columns(features: np.ndarray) -> np.ndarray:
    probabilities, offsets = probabilities_of(features), features.shape[1]
    weights = features[..., :-1].reshape(len(features), -1)  # (N, n L H)
    return np.column_stack([weights, probabilities, lagged(probabilities, offsets)])


LOOKBACK_EXTRAS: tuple[Extra, ...] = ("lookback",)
ENTROPY_EXTRAS: tuple[Extra, ...] = ("attention_entropy",)


def lookback_lens_features(trace: Trace) -> np.ndarray:
    """The mean lookback ratio of each head over the N tokens, layer by layer: (L H,), from 0 to 1.

    The ratio of a row is C / (C + G): C is the mean weight on a key of the prompt, G that on a key of the answer so
    far; 1 for the first token. Means of keys, not sums, and the first row counts, both as in the reference. nan where a
    head attends to neither.

    Raises:
        NotCaptured: the trace has no `lookback`.
        InvalidInput: it has another shape.
    """
    num_layers, num_heads = trace.attention.shape[:2]
    given = extra_of(trace, "lookback", (num_layers, num_heads, len(trace.answer_ids), 2)).astype(np.float64)
    prompt, answer = given[..., 0], given[..., 1]  # (L, H, N)
    total = prompt + answer
    ratios = np.divide(prompt, total, out=np.full_like(total, np.nan), where=total > 0)
    ratios[..., 0] = np.where(np.isnan(prompt[..., 0]), np.nan, 1.0)  # no answer yet, so the prompt has all
    return ratios.mean(axis=-1).ravel()


def head_entropy_features(trace: Trace) -> np.ndarray:
    """The Renyi-2 entropy of each head's attention in nats, averaged over the N tokens, layer by layer: (L H,).

    Rows are those of the queries that predict answer tokens; sinks are left out. The average over tokens is ours.

    Raises:
        NotCaptured: the trace has no `attention_entropy`.
        InvalidInput: it has another shape.
    """
    num_layers, num_heads = trace.attention.shape[:2]
    given = extra_of(trace, "attention_entropy", (num_layers, num_heads, len(trace.answer_ids), 2))
    return given[..., 1].astype(np.float64).mean(axis=-1).ravel()


@dataclass(frozen=True, eq=False, kw_only=True)
class _OfHeads:
    """A fitted regression: the log-odds of a correct answer are `coefficients` (L H,) times features + `intercept`."""

    method: ClassVar[str]
    coefficients: np.ndarray
    intercept: float

    def __post_init__(self) -> None:
        require_array(self.coefficients, (None,), name="coefficients")
        require(fits=is_number(self.intercept), name="intercept", got=self.intercept, allowed="a finite number")

    def value(self, features: np.ndarray) -> float:
        """The probability that an answer is incorrect, from its features (L H,).

        Raises:
            InvalidInput: features of another shape, or one that is nan.
        """
        require_features(features, self.coefficients.shape, method=self.method)
        return float(probability(-(features @ self.coefficients.astype(np.float64)) - self.intercept))


class LookbackLens(_OfHeads):
    """LookBackLens, fitted."""

    method = "LookBackLens"


class HeadEntropy(_OfHeads):
    """Head Entropy, fitted. Most coefficients are 0: their heads do not count."""

    method = "Head Entropy"
