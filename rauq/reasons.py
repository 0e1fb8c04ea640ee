"""Why a value is nan: undefined is said in words, and never ranked."""

from dataclasses import dataclass

import numpy as np

from rauq.aggregation import within_answer
from rauq.algorithm import Steps
from rauq.batch import Batch
from rauq.collapse import NO_COLLAPSE
from rauq.parts import NO_PART
from rauq.settings import MEAN_UPDATES, Settings


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Why the value of the same name in a `Score` is nan somewhere; an empty string where it is defined."""

    uncertainty: str
    confidence: str
    contributions: str
    collapse: str
    collapse_shares: str


def why_uncertainty(steps: Steps, answers: Batch) -> np.ndarray:
    """Why each answer's uncertainty is nan: (A,) strings, empty where it is defined."""
    lengths = answers.lengths
    if not np.isnan(steps.uncertainty).any():
        return np.full(len(lengths), "")
    signal, attention, confidence = steps.signal, steps.attention, steps.confidence
    unknown_signal = (np.isnan(signal) & within_answer(signal, lengths)).any(axis=-1)
    unknown_attention = (np.isnan(attention) & within_answer(attention, lengths - 1)).any(axis=(-2, -1))
    negative = ((confidence < 0) & within_answer(confidence, lengths)).any(axis=(-2, -1))
    empty = np.zeros(len(lengths), dtype=bool) if answers.empty is None else answers.empty
    too_short = (lengths == 1) & (steps.settings.update in MEAN_UPDATES)
    return np.select(
        [~np.isnan(steps.uncertainty), empty, unknown_signal | unknown_attention, too_short, negative],
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
    no_confidence = _if(settings.update in MEAN_UPDATES, f"update={settings.update!r} has no confidence of tokens")
    no_sum = _if("median" in settings.token_aggregation, "a median over tokens is not a sum of them")
    no_layer = _if("median" in settings.layer_aggregation, "a median over layers is no single layer's")
    no_flow = _if(settings.update in NO_COLLAPSE, f"update={settings.update!r} carries no confidence onwards")
    no_logarithm = "a confidence is 0 or less, where it has no finite logarithm"
    return Reasons(
        uncertainty=uncertainty,
        confidence=_first_if_nan(confidence, no_confidence, uncertainty),
        contributions=_first_if_nan(contributions, no_confidence, no_sum, no_layer, uncertainty),
        collapse=_first_if_nan(collapse, no_flow, no_layer, uncertainty, no_logarithm),
        collapse_shares=_first_if_nan(collapse_shares, no_flow, no_layer, uncertainty, no_logarithm),
    )


def _if(condition: bool, reason: str) -> str:  # noqa: FBT001 - a small if, in a column of its likes
    return reason if condition else ""


def _first_if_nan(values: np.ndarray, *reasons: str) -> str:
    return next(filter(None, reasons), "") if np.isnan(values).any() else ""
