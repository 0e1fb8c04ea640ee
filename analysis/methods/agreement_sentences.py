"""Sentences about which methods order answers alike, and about the answers on which two of them disagree."""

import math

import numpy as np

from analysis.answer_sets.sentences import joined, left_out
from analysis.methods.agreement import Disagreement, MethodAgreement
from analysis.methods.comparison import RAUQ, name_of
from rauq.labels import number


def most_and_least_alike(agreement: MethodAgreement, base: str = RAUQ) -> tuple[str, str] | None:
    """The methods that agree most and least with `base`; None where no correlation is defined."""
    others = _correlations(agreement, base)
    return (max(others, key=others.__getitem__), min(others, key=others.__getitem__)) if others else None


def _correlations(agreement: MethodAgreement, base: str) -> dict[str, float]:
    """Spearman's correlation of `base` with each other method, where it is defined."""
    if base not in agreement.methods:
        return {}
    own = agreement.correlations[agreement.methods.index(base)]
    return {
        method: value
        for method, value in zip(agreement.methods, own, strict=True)
        if method != base and not math.isnan(value)
    }


def agreement_sentence(agreement: MethodAgreement, *, base: str = RAUQ) -> str:
    """Which methods agree most and least with `base` about the order of the answers."""
    if base not in agreement.methods:
        return f"{name_of(base)} is not among these methods."
    others, ends = _correlations(agreement, base), most_and_least_alike(agreement, base)
    if ends is None:
        return "No correlation is defined."
    near, far = (f"{name_of(method)} ({number(others[method], places=2)})" for method in ends)
    if len(others) == 1:
        return f"Spearman correlation of {name_of(base)} with {near}."
    return f"{name_of(base)} agrees most with {near} and least with {far}, by Spearman correlation."


def disagreement_sentence(disagreement: Disagreement, quality: np.ndarray, first: str, second: str) -> str:
    """Mean quality of the answers on which the two methods disagree most."""
    if not len(disagreement.first_more_uncertain.rows):
        return (
            f"{name_of(first)} and {name_of(second)} rank all {disagreement.n:,} answers identically."
            if disagreement.n > 1
            else ""
        )
    if np.isnan(quality).all():
        return "Which method ranks better where they disagree is undefined: no answer has a quality."
    sides = ((first, disagreement.first_more_uncertain), (second, disagreement.second_more_uncertain))
    words = [
        f"{number(_mean(quality[side.rows]), places=2)} for the {len(side.rows)} that {name_of(method)} ranks more "
        "uncertain"
        for method, side in sides
    ]
    return joined(
        f"Mean quality where the ranks of {disagreement.n:,} answers differ most: {words[0]}; {words[1]}; all answers "
        f"{number(_mean(quality), places=2)}. Lower is better for the method.",
        left_out(disagreement.excluded, missing="uncertainty by one of the methods"),
    )


def _mean(quality: np.ndarray) -> float:
    there = quality[np.isfinite(quality)]
    return float(there.mean()) if len(there) else math.nan
