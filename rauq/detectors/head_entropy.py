"""Head Entropy, supervised: a sparse logistic regression on how widely each head attends (arXiv 2602.13699)."""

from dataclasses import dataclass

import numpy as np

from rauq.detectors.checks import is_number, require, require_array, require_features
from rauq.detectors.logistic import probability
from rauq.trace.extras import extra_of
from rauq.trace.trace import Extra, Trace

EXTRAS: tuple[Extra, ...] = ("attention_entropy",)


def features(trace: Trace) -> np.ndarray:
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
class HeadEntropy:
    """A fitted regression: the log-odds of a correct answer are `coefficients` (L H,) times features + `intercept`.

    Most coefficients are 0: their heads do not count.
    """

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
        require_features(features, self.coefficients.shape, method="Head Entropy")
        return float(probability(-(features @ self.coefficients.astype(np.float64)) - self.intercept))
