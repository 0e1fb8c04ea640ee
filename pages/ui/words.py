"""What stands around the tokens of an answer."""

import math
from typing import NamedTuple

from rauq import report
from rauq.labels import running
from rauq.report import ENDINGS
from rauq.score import Score
from rauq.trace import Trace

_LONGEST_PROMPT = 60


class Words(NamedTuple):
    """Whose answer it is, what there is to see in it, and the numbers that say so."""

    source: str
    headline: str
    detail: str


def words(trace: Trace, score: Score, note: str = "") -> Words:
    """The words around a scored answer; `note` stands behind its source."""
    headline, detail = report.sentence_halves(trace, score)
    if not math.isnan(score.uncertainty):
        uncertainty = f"{score.uncertainty:.2f}".replace("-", "−").replace("inf", "∞")
        detail += f" Uncertainty {uncertainty}: it ranks answers, and is not a probability."
    return Words(f"{_source(trace)}. {note}", headline, detail)


def _source(trace: Trace) -> str:
    prompt = running(trace.prompt.strip())
    if len(prompt) > _LONGEST_PROMPT:
        prompt = f"…{prompt[-_LONGEST_PROMPT:].partition(' ')[2] or prompt[-_LONGEST_PROMPT:]}"
    chat = ", chat template applied" if trace.chat_applied else ""
    count = len(trace.pieces)
    ending = f"{count} token{'' if count == 1 else 's'}, {ENDINGS[trace.stop_reason]}"
    isolated = f"\N{FIRST STRONG ISOLATE}{prompt}\N{POP DIRECTIONAL ISOLATE}"  # a right-to-left prompt stays inside
    return f"{running(trace.model)} ({trace.kind}{chat}) on “{isolated}”: {ending}"
