"""EigenScore: how far apart the samples lie in the middle of the model (Chen et al., 2024, INSIDE)."""

import numpy as np

from rauq.errors import InvalidInput
from rauq.methods.answers import captured
from rauq.methods.method import Evidence, Uncertainty

_RIDGE, _SMALLEST = 1e-3, 1e-10


def eigen_score(evidence: Evidence) -> Uncertainty:
    """The mean log eigenvalue of the samples' covariance, of the states that predicted their last tokens.

    Raises:
        NotCaptured: a sample has no hidden state.
        InvalidInput: their hidden states are not of one size.
    """
    states = [captured(sample, "hidden") for sample in evidence.samples]
    if len({len(state) for state in states}) > 1:
        message = "The hidden states of the samples differ in size. Draw all samples from one model."
        raise InvalidInput(message)
    if not np.isfinite(states).all():
        return Uncertainty(
            np.nan,
            "a hidden state is not known: a sample of one token, after thinking or of a model that skips the prompt",
        )
    return Uncertainty(mean_log_eigenvalue(np.array(states)))


def mean_log_eigenvalue(states: np.ndarray) -> float:
    """Of E E^T + 0.001 I, with the states E (K, d) each centred over its own features."""
    centred = states - states.mean(axis=1, keepdims=True)
    eigenvalues = np.linalg.eigvalsh(centred @ centred.T + _RIDGE * np.eye(len(states)))
    return float(np.log(np.maximum(eigenvalues, _SMALLEST)).mean())
