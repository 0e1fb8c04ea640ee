"""What stands around the tokens of an answer."""

import math
from typing import NamedTuple

from rauq import report
from rauq.labels import running
from rauq.score import Score
from rauq.trace import Trace

_LONGEST_PROMPT = 60
_ENDINGS = {
    "eos": "ended by the model",
    "stop": "ended at a stop string",
    "length": "cut at the limit",
    "cancelled": "stopped by you",
    "given": "as pasted",
}


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
        prompt = f"…{prompt[-_LONGEST_PROMPT:]}"
    chat = ", chat template applied" if trace.chat_applied else ""
    ending = f"{len(trace.pieces)} tokens, {_ENDINGS[trace.stop_reason]}"
    return f"{running(trace.model)} ({trace.kind}{chat}) on “{prompt}”: {ending}"
