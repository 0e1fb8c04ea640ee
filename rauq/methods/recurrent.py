"""RAUQ and its ablations, which are the same algorithm under other settings."""

from collections.abc import Callable

import numpy as np

from rauq.batch import batch
from rauq.methods.method import Evidence, Uncertainty
from rauq.score import score_many
from rauq.settings import Settings


def under(settings: Settings) -> Callable[[Evidence], Uncertainty]:
    """RAUQ under these settings; signal and alpha that they leave open are the paper's for the kind of the model.

    Raises:
        InvalidInput: settings that do not fit the layers or heads of the trace.
    """

    def compute(evidence: Evidence) -> Uncertainty:
        scores = score_many(batch([evidence.trace], settings.alignment), settings)
        return Uncertainty(scores.uncertainty[0], str(scores.reasons[0]))

    return compute


def single_head(_: Evidence) -> Uncertainty:
    """One head a layer for all answers: one answer alone cannot tell which."""
    return Uncertainty(np.nan, "its heads are chosen on other answers")
