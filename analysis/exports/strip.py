"""The answer as coloured tokens, for pages that stand alone: the same levels and numbers as on the page."""

import math
from typing import NamedTuple

from rauq import report
from rauq.labels import Part, number, parts
from rauq.score import Score
from rauq.trace import Trace

SWATCHES = (0.0, 0.25, 0.75, 1.5, 3.0)  # nats
LONG = 60  # tokens, from which on they are set smaller


class StripToken(NamedTuple):
    """One token to draw: its parts, the strength of its colour from 0 to 1, and what is marked at it."""

    parts: tuple[Part, ...]
    level: float
    number: str
    collapse: bool
    wrong: bool
    ends_line: bool


def strip(trace: Trace, score: Score) -> tuple[StripToken, ...]:
    """The tokens of an answer in the colours of its score; a line break is drawn, save after the last token."""
    found = report.collapse(score)
    last = len(trace.pieces) - 1
    return tuple(
        StripToken(
            parts=parts(piece),
            level=level(value),
            number=number(value, places=2),
            collapse=found is not None and index == found.token,
            wrong=index in trace.wrong,
            ends_line=piece.endswith(b"\n") and index < last,
        )
        for index, (piece, value) in enumerate(zip(trace.pieces, score.collapse.tolist(), strict=True))
    )


def level(collapse: float) -> float:
    """Strength of the colour: the share of a sure model's confidence that is lost; 0 where it is undefined."""
    return 0.0 if math.isnan(collapse) else 1 - math.exp(-max(collapse, 0.0))
