"""How good one answer is."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Judgement:
    """Quality of one answer, higher is better; nan where it is undefined, and then `reason` says why.

    `facts`: characters (start, end) of the answer that carry the fact, where the truth tells them.
    """

    quality: float
    reason: str = ""
    facts: tuple[tuple[int, int], ...] = ()


def undefined(reason: str) -> Judgement:
    """An answer whose quality cannot be told."""
    return Judgement(math.nan, reason)


@dataclass(frozen=True)
class Thresholds:
    """Quality above `correct` is correct and below `incorrect` is incorrect, in figures (paper, figure 3).

    Between the two an answer is neither. `roc`: quality above it is correct where every answer has to be one or the
    other (paper, table of ROC-AUC).
    """

    correct: float = 0.9
    incorrect: float = 0.1
    roc: float = 0.5
