"""What stands around the tokens of an answer."""

from typing import TYPE_CHECKING, NamedTuple

from rauq import report
from rauq.labels import running, size
from rauq.report import ENDINGS
from rauq.score import Score
from rauq.trace import Trace

if TYPE_CHECKING:
    from rauq.candidate import Candidate

_LONGEST_PROMPT = 60
_MILLION = 1e6


class Words(NamedTuple):
    """Whose answer it is, what there is to see in it, and the numbers that say so."""

    source: str
    headline: str
    detail: str


def words(trace: Trace, score: Score, note: str = "") -> Words:
    """The words around a scored answer; `note` stands behind its source."""
    headline, detail = report.sentence_halves(trace, score)
    detail = f"{detail} {report.uncertainty_sentence(score)}".rstrip()
    return Words(f"{_source(trace)}. {note}", headline, detail)


def model_facts(candidate: "Candidate") -> str:
    """What is known about a model before it is loaded, in one line of numbers."""
    parameters = f", {candidate.parameters / _MILLION:,.1f} million parameters"
    needs = "" if candidate.bytes_needed is None else f", {size(candidate.bytes_needed)}"
    place = f" in {candidate.dtype} on {candidate.device}"
    free = "" if candidate.bytes_free is None else f" ({size(candidate.bytes_free)} free)"
    return f"{candidate.architecture}{parameters}{needs}{place}{free}"


def _source(trace: Trace) -> str:
    prompt = running(trace.prompt.strip())
    if len(prompt) > _LONGEST_PROMPT:
        prompt = f"…{prompt[-_LONGEST_PROMPT:].partition(' ')[2] or prompt[-_LONGEST_PROMPT:]}"
    chat = ", chat template applied" if trace.chat_applied else ""
    count = len(trace.pieces)
    ending = f"{count} token{'' if count == 1 else 's'}, {ENDINGS[trace.stop_reason]}"
    isolated = f"\N{FIRST STRONG ISOLATE}{prompt}\N{POP DIRECTIONAL ISOLATE}"  # a right-to-left prompt stays inside
    return f"{running(trace.model)} ({trace.kind}{chat}) on “{isolated}”: {ending}"
