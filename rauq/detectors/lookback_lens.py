"""LookBackLens: a logistic regression on how much each head attends to the prompt (Chuang et al., 2024)."""

from dataclasses import dataclass

import numpy as np

from rauq.detectors.checks import is_number, require, require_array, require_features
from rauq.detectors.logistic import probability
from rauq.trace.extras import extra_of
from rauq.trace.trace import Extra, Trace

EXTRAS: tuple[Extra, ...] = ("lookback",)


def features(trace: Trace) -> np.ndarray:
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


@dataclass(frozen=True, eq=False, kw_only=True)
class LookbackLens:
    """A fitted regression: the log-odds of a correct answer are `coefficients` (L H,) times features + `intercept`."""

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
        require_features(features, self.coefficients.shape, method="LookBackLens")
        return float(probability(-(features @ self.coefficients.astype(np.float64)) - self.intercept))
