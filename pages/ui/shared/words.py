"""What stands around the tokens of an answer."""

from typing import NamedTuple

from rauq.labels import about_weights, running
from rauq.scoring import report
from rauq.scoring.report import why_empty
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

_LONGEST_PROMPT = 60


class Words(NamedTuple):
    """Whose answer it is, what there is to see in it, and the numbers that say so."""

    source: str
    headline: str
    detail: str


def words(trace: Trace, score: Score, note: str = "") -> Words:
    """The words around a scored answer; `note` stands behind its source."""
    headline, detail = report.sentence_halves(trace, score)
    if not why_empty(trace, score.settings.part):
        detail = f"{detail} {report.uncertainty_sentence(score)}".rstrip()
    source = f"{_source(trace)}. {about_weights(trace.quantisation, trace.dtype)}".rstrip()
    return Words(f"{source} {note}", headline, detail)


def _source(trace: Trace) -> str:
    prompt = running(trace.prompt.strip())
    if len(prompt) > _LONGEST_PROMPT:
        prompt = f"…{prompt[-_LONGEST_PROMPT:].partition(' ')[2] or prompt[-_LONGEST_PROMPT:]}"
    note = report.prompt_note(trace)
    chat = f", {note}" if note else ""
    count = len(trace.pieces)
    ending = f"{count} token{'' if count == 1 else 's'}, {report.ending(trace)}"
    isolated = f"\N{FIRST STRONG ISOLATE}{prompt}\N{POP DIRECTIONAL ISOLATE}"  # a right-to-left prompt stays inside
    return f"{running(trace.model)} ({trace.kind}{chat}) on “{isolated}”: {ending}"
