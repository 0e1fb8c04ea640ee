"""What stands around the tokens of an answer."""

from typing import TYPE_CHECKING, NamedTuple

from pages.ui.links import MOST_TOKENS
from rauq import report
from rauq.empty_answers import why_empty
from rauq.labels import FLOATS, about_weights, running, size
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
    if not why_empty(trace, score.settings.part):
        detail = f"{detail} {report.uncertainty_sentence(score)}".rstrip()
    source = f"{_source(trace)}. {about_weights(trace.quantisation, trace.dtype)}".rstrip()
    return Words(f"{source} {note}", headline, detail)


def model_facts(candidate: "Candidate") -> str:
    """What is known about a model before it is loaded, in one line of numbers."""
    parameters = f", {candidate.parameters / _MILLION:,.1f} million parameters"
    if candidate.bytes_in_file is not None:
        parameters += f", {size(candidate.bytes_in_file)} in the file ({candidate.quantisation})"
    dequantised = " dequantised" if candidate.quantisation else ""
    needs = "" if candidate.bytes_needed is None else f", {size(candidate.bytes_needed)}{dequantised}"
    place = f" in {candidate.dtype} on {candidate.device}"
    free = "" if candidate.bytes_free is None else f" ({size(candidate.bytes_free)} free)"
    return f"{candidate.architecture}{parameters}{needs}{place}{free}"


def candidate_lines(candidate: "Candidate", *, beside: bool) -> tuple[str, ...]:
    """What a check says of a model, a line each; `beside`: jobs use another model."""
    heads = f"{candidate.architecture}: {candidate.num_layers} layers of {candidate.num_heads} heads"
    file = "" if candidate.bytes_in_file is None else f"{size(candidate.bytes_in_file)} in the file"
    quantised = f", quantised as {candidate.quantisation}" if candidate.quantisation not in (None, *FLOATS) else ""
    memory = "" if candidate.bytes_needed is None else f"{size(candidate.bytes_needed)} in memory, "
    cached = f"{size(candidate.bytes_cache)} more for {MOST_TOKENS:,} tokens" if candidate.bytes_cache else ""
    found = (
        f"{heads}, {candidate.parameters / _MILLION:,.1f} million parameters",
        f"{file}{quantised}",
        f"{memory}{candidate.dtype} on {candidate.device}",
        cached,
        _fit(candidate, beside=beside),
        f"{candidate.kind}: {candidate.why_kind}",
    )
    return tuple(filter(None, found))


def _fit(candidate: "Candidate", *, beside: bool) -> str:
    """Whether a model fits, where that is known."""
    if candidate.fits is None or candidate.bytes_free is None:
        return ""
    if candidate.fits:
        return f"It fits: {size(candidate.bytes_free)} are free."
    other = " beside the model that is at work" if beside else ""
    return f"It does not fit{other}: choose a smaller model, or bfloat16 as its precision."


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
