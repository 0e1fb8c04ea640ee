"""Detectors of the hidden states of an answer: SAPLMA and MIND, and with all layers Sheeps and SATRMD + MSP.

SAPLMA (Azaria and Mitchell, 2023) and MIND (Su et al., 2024) are small networks on one vector of an answer; Sheeps and
SATRMD + MSP read the states at each of its tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rauq.detectors.checks import is_number, is_whole, require, require_array, require_features
from rauq.trace.extras import extra_of
from rauq.trace.file import MOST_LAYERS
from rauq.trace.trace import Extra, Trace

SAPLMA_EXTRAS: tuple[Extra, ...] = ("hidden_mean",)
LAYER_EXTRAS: tuple[Extra, ...] = ("hidden_layers",)
OUTPUTS = ("identity", "sigmoid")


def probability(log_odds: np.ndarray | float) -> np.ndarray:
    """The probabilities (...) of log-odds (...), 0 to 1; nothing overflows."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(log_odds))))


def saplma_features(trace: Trace) -> np.ndarray:
    """The mean of the middle layer's hidden states over prompt and answer: (d,). The prompt is in, as in the reference.

    Raises:
        NotCaptured: the trace has no `hidden_mean`.
        InvalidInput: it has another shape.
    """
    return extra_of(trace, "hidden_mean", (-1,)).astype(np.float64)


def mind_features(trace: Trace) -> np.ndarray:
    """Half the mean of the last layer's rows plus half its last row, after the final norm: (d,).

    Rows predict the tokens of the answer: the last position of the prompt is in, that of the last token is not.

    Raises:
        NotCaptured: the trace has no `hidden_layers`.
        InvalidInput: it has another shape.
    """
    states = extra_of(trace, "hidden_layers", (trace.num_layers + 1, len(trace.answer_ids), -1))
    rows = states[-1].astype(np.float64)
    return (rows.mean(axis=0) + rows[-1]) / 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Perceptron:
    """Four linear layers with ReLU between them: weights (outputs, inputs), biases (outputs,)."""

    weight_1: np.ndarray
    bias_1: np.ndarray
    weight_2: np.ndarray
    bias_2: np.ndarray
    weight_3: np.ndarray
    bias_3: np.ndarray
    weight_4: np.ndarray
    bias_4: np.ndarray

    def __post_init__(self) -> None:
        inputs: int | None = None
        for number, (weight, bias) in enumerate(self.layers(), start=1):
            require_array(weight, (None, inputs), name=f"weight_{number}")
            inputs = len(weight)
            require_array(bias, (inputs,), name=f"bias_{number}")

    def layers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weight and bias of each layer, the first one first."""
        for number in range(1, 5):
            yield getattr(self, f"weight_{number}"), getattr(self, f"bias_{number}")

    def outputs(self, features: np.ndarray) -> np.ndarray:
        """The outputs (k,) for features (d,), in float64.

        Raises:
            InvalidInput: features of another shape, or one that is nan.
        """
        require_features(features, (self.weight_1.shape[1],), method=type(self).__name__.upper())
        state = features.astype(np.float64)
        for place, (weight, bias) in enumerate(self.layers()):
            state = weight.astype(np.float64) @ (np.maximum(state, 0.0) if place else state) + bias
        return state


@dataclass(frozen=True, eq=False, kw_only=True)
class Saplma(Perceptron):
    """A fitted SAPLMA: `output` is "identity" where quality was continuous in training, "sigmoid" where it was 0 or 1.

    The reference applies a sigmoid to both, which orders answers equally; here a continuous one predicts 1 - quality.
    """

    output: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_array(self.bias_4, (1,), name="bias_4")
        require(fits=self.output in OUTPUTS, name="output", got=self.output, allowed=" or ".join(OUTPUTS))

    def value(self, features: np.ndarray) -> float:
        """1 minus the predicted quality of an answer, or the probability that it is incorrect, from features (d,).

        Raises:
            InvalidInput: features of another shape, or one that is nan.
        """
        (found,) = self.outputs(features)
        return float(probability(found)) if self.output == "sigmoid" else float(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mind(Perceptron):
    """A fitted MIND: its two outputs are the logits of a correct and of an incorrect answer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_array(self.bias_4, (2,), name="bias_4")

    def value(self, features: np.ndarray) -> float:
        """The probability that an answer is incorrect, from features (d,).

        Raises:
            InvalidInput: features of another shape, or one that is nan.
        """
        correct, incorrect = self.outputs(features)
        return float(probability(incorrect - correct))


def layer_features(trace: Trace) -> np.ndarray:
    """The hidden states h_0 to h_{l-1} that predict each token, and its log-probability and entropy: (l, N, d + 2).

    h_0 are the embeddings, l all layers of the model; what follows the last block is not used (the reference's
    choice). The last two columns, in nats, are the same at each layer. The dtype is that of the captured states.

    Raises:
        NotCaptured: the trace has no hidden states of all layers.
        InvalidInput: they are not of this answer.
    """
    states = extra_of(trace, "hidden_layers", (trace.num_layers + 1, len(trace.answer_ids), -1))[:-1]
    numbers = np.stack([trace.logprobs, trace.entropies], axis=-1).astype(states.dtype)
    return np.concatenate([states, np.broadcast_to(numbers, (*states.shape[:2], 2))], axis=-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sheeps:
    """A fitted Sheeps (CH-Wang et al., 2023, Do Androids Know They're Only Dreaming of Electric Sheep?).

    Of each of L layers a probe: `attention` (L, d) scores the answer's rows, whose softmax pools them; `probes` (L, d)
    and `biases` (L,) give the log-odds that the answer is incorrect. `weights` (L,) and `intercept` join the layers.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    attention: np.ndarray
    probes: np.ndarray
    biases: np.ndarray
    weights: np.ndarray
    intercept: float

    def __post_init__(self) -> None:
        require_array(self.attention, (None, None), name="attention")
        require_array(self.probes, self.attention.shape, name="probes")
        require_array(self.biases, self.attention.shape[:1], name="biases")
        require_array(self.weights, self.attention.shape[:1], name="weights")
        require(fits=is_number(self.intercept), name="intercept", got=self.intercept, allowed="a finite number")

    def value(self, features: np.ndarray) -> float:
        """The probability that the answer is incorrect.

        Raises:
            InvalidInput: features of another shape, or not all finite.
        """
        num_layers, width = self.attention.shape
        require_features(features, (num_layers, None, width + 2), method="Sheeps")
        layers = layer_probabilities(features[..., :-2], self.attention, self.probes, self.biases)
        return float(probability(layers @ self.weights + self.intercept))


def layer_probabilities(
    states: np.ndarray, attention: np.ndarray, probes: np.ndarray, biases: np.ndarray
) -> np.ndarray:
    """The probability that an answer with hidden states (L, N, d) is incorrect, by the probe of each layer: (L,).

    The other arrays are those of `Sheeps`.
    """
    states = states.astype(np.float64)
    scores = np.einsum("lnd,ld->ln", states, attention)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    pooled = np.einsum("ln,lnd->ld", shares / shares.sum(axis=1, keepdims=True), states)
    return probability((pooled * probes).sum(axis=1) + biases)


@dataclass(frozen=True, eq=False, kw_only=True)
class Satrmd:
    """A fitted SATRMD + MSP (Vazhentsev et al., 2025): supervised relative Mahalanobis distances of tokens.

    `layers` (K,) of `num_layers` are those with a usable covariance. `means` (2, K, d) and `whitening` (2, K, d, d)
    describe rows of correct answers, then of the background: the distance of a row x is the length of
    (x - mean) @ whitening. `weights` (K,) belong to the mean over rows of the difference of both distances,
    `msp_weight` and `entropy_weight` to minus the log-probability of the answer and to the mean entropy, in nats.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    num_layers: int
    layers: np.ndarray
    means: np.ndarray
    whitening: np.ndarray
    weights: np.ndarray
    msp_weight: float
    entropy_weight: float
    intercept: float

    def __post_init__(self) -> None:
        fits = is_whole(self.num_layers, 1, MOST_LAYERS)
        require(fits=fits, name="num_layers", got=self.num_layers, allowed=f"a whole number from 1 to {MOST_LAYERS:,}")
        require_array(self.layers, (None,), name="layers")
        listed = self.layers.tolist()
        fits = self.layers.dtype.kind in "iu" and listed == sorted(set(listed) & set(range(self.num_layers)))
        require(fits=fits, name="layers", got=listed, allowed=f"ascending whole numbers below {self.num_layers}")
        require_array(self.means, (2, len(listed), None), name="means")
        require_array(self.whitening, (*self.means.shape, self.means.shape[-1]), name="whitening")
        require_array(self.weights, (len(listed),), name="weights")
        for name in ("msp_weight", "entropy_weight", "intercept"):
            own = getattr(self, name)
            require(fits=is_number(own), name=name, got=own, allowed="a finite number")

    def value(self, features: np.ndarray) -> float:
        """The uncertainty of an answer: an estimate of 1 minus its quality, which may lie outside [0, 1].

        Raises:
            InvalidInput: features of another shape, or not all finite.
        """
        require_features(features, (self.num_layers, None, self.means.shape[-1] + 2), method="SATRMD + MSP")
        parts = zip(self.layers, np.moveaxis(self.means, 1, 0), np.moveaxis(self.whitening, 1, 0), strict=True)
        relative = [relative_distances(features[layer, :, :-2], *part).mean() for layer, *part in parts]
        minus_logprob, entropy = answer_numbers(features)
        rest = minus_logprob * self.msp_weight + entropy * self.entropy_weight + self.intercept
        return float(np.dot(relative, self.weights) + rest)


def relative_distances(rows: np.ndarray, means: np.ndarray, whitening: np.ndarray) -> np.ndarray:
    """Mahalanobis distance of rows (n, d) from correct answers minus that from the background: (n,).

    `means` (2, d) and `whitening` (2, d, d), of one layer; see `Satrmd`.
    """
    correct, background = (
        np.linalg.norm((rows.astype(np.float64) - mean) @ white, axis=1)
        for mean, white in zip(means, whitening, strict=True)
    )
    return correct - background


def answer_numbers(features: np.ndarray) -> np.ndarray:
    """Minus the log-probability of an answer, and the mean entropy of its tokens: (2,) in nats."""
    logprobs, entropies = features[0, :, -2:].astype(np.float64).T
    return np.array([-logprobs.sum(), entropies.mean()])
