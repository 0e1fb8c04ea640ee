"""Why an answer has no text, and what helps: each surface words the remedies as what its user can do there."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from rauq.trace.parts import part_of, thinking_never_closed
from rauq.trace.trace import Part, StopReason, Trace

Remedy = Literal["question", "no_stop", "more_tokens", "base", "instruct", "template", "whole"]
"""What to do about an empty answer.

question: the prompt as `as_question` writes it. no_stop: no stop string (`stop=()`). more_tokens: a larger
`max_new_tokens`. base, instruct: the other kind of model (`kind=`), if it is one. template: the chat template, which
chat=False left out. whole: the whole text scored as the answer (`Settings(part="all")`).
"""

ENDINGS: Mapping[StopReason, str] = MappingProxyType(
    {
        "eos": "ended by the model",
        "stop": "ended at a stop string",
        "length": "cut at the token limit",
        "cancelled": "stopped by you",
        "alarm": "stopped by an alarm",
        "given": "as given",
    }
)


@dataclass(frozen=True, kw_only=True)
class EmptyAnswer:
    """Why an answer has no text, in a sentence or two, and what helps, the most promising first."""

    what: str
    remedies: tuple[Remedy, ...] = ()


def empty_answer(trace: Trace, part: Part = "answer", *, has_template: bool = False) -> EmptyAnswer | None:
    """Why a part has no text besides white space and an end token; None where it has some.

    Args:
        trace: Any.
        part: As in `Settings`.
        has_template: Whether the model is known to have a chat template, without which it cannot be used as instruct.
    """
    answer = part_of(trace, part)
    if answer is None and part == "answer" and thinking_never_closed(trace):
        what = "The prompt opens a thinking section and the answer never closes it, so all of it counts as thinking."
        return EmptyAnswer(what=what, remedies=("whole",))
    if answer is None:
        what = f"The model was still thinking when {_ended(trace)}."
        return EmptyAnswer(what=what, remedies=_go_on(trace)) if part == "answer" else None
    if answer.answer.strip():
        return None
    if trace.stop_reason == "stop":
        wrote = "a line break" if "\n" in answer.answer else "white space"
        follows = trace.thinking is not None and part == "answer"
        began = f"After its thinking the model wrote only {wrote}" if follows else f"The model began with {wrote}"
        what = f"{began}, at which the answer stops."
        return EmptyAnswer(what=what, remedies=(*_past_stop(trace), *_as_instruct(trace, has_template=has_template)))
    if trace.stop_reason == "eos" and not answer.answer:
        return _ended_at_once(trace, has_template=has_template)
    return EmptyAnswer(what=f"The answer is only white space ({ENDINGS[trace.stop_reason]}).", remedies=_go_on(trace))


def as_question(prompt: str) -> str:
    """The prompt as a base model answers it: a question, and the cue for its answer on the same line."""
    return f"Question: {prompt.strip()}\nAnswer:"


def _past_stop(trace: Trace) -> tuple[Remedy, ...]:
    """A base model continues a cue with text; if there is a cue already, it has to continue after the stop string."""
    has_cue = trace.prompt.rstrip().endswith((":", "\N{FULLWIDTH COLON}"))
    return ("no_stop",) if trace.kind != "base" or trace.prompt_form != "text" or has_cue else ("question", "no_stop")


def _as_instruct(trace: Trace, *, has_template: bool) -> tuple[Remedy, ...]:
    return ("instruct",) if has_template and trace.kind == "base" and not trace.chat_applied else ()


def _ended_at_once(trace: Trace, *, has_template: bool) -> EmptyAnswer:
    what = "The model generated its end token immediately."
    if trace.chat_applied or trace.prompt_form == "templated":
        about = "The chat template was applied, and base models often end right after it."
        return EmptyAnswer(what=f"{what} {about}", remedies=() if trace.kind == "base" else ("base",))
    if trace.prompt_form == "ids":
        about = "The prompt was given as token ids, which may lack the chat template."
        return EmptyAnswer(what=f"{what} {about}")
    if trace.kind == "base":
        return EmptyAnswer(what=what, remedies=_as_instruct(trace, has_template=has_template))
    about = "It is a chat model, and no chat template was applied."
    return EmptyAnswer(what=f"{what} {about}", remedies=("template",))


def _go_on(trace: Trace) -> tuple[Remedy, ...]:
    return ("more_tokens",) if trace.stop_reason == "length" else ()


def _ended(trace: Trace) -> str:
    match trace.stop_reason:
        case "length":
            return "the answer reached the token limit"
        case "cancelled" | "alarm":
            return "the answer was stopped"
        case "given":
            return "the given answer ended"
    return "the answer ended"
