"""SAPLMA and MIND: a small network on the hidden states of an answer (Azaria and Mitchell, 2023; Su et al., 2024)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rauq.detectors.checks import require, require_array, require_features
from rauq.detectors.logistic import probability
from rauq.trace.extras import extra_of
from rauq.trace.trace import Extra, Trace

SAPLMA_EXTRAS: tuple[Extra, ...] = ("hidden_mean",)
MIND_EXTRAS: tuple[Extra, ...] = ("hidden_layers",)
OUTPUTS = ("identity", "sigmoid")


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
