"""The probable reason why an answer has no text, shown instead of the score of an end token."""

from rauq.parts import part_of
from rauq.trace import Part, Trace


def why_empty(trace: Trace, part: Part = "answer") -> str:
    """A sentence or two where a part has no text besides white space and an end token; empty where it has some."""
    answer = part_of(trace, part)
    if answer is None:
        still = f"The model was still thinking when the answer {_ended(trace)}. {_go_on(trace)}".strip()
        return still if part == "answer" else ""
    if answer.answer.strip():
        return ""
    if trace.stop_reason == "stop":
        return f"A stop string came before any other text: pass stop=() to use none. {_other_kind(trace)}".strip()
    if trace.stop_reason == "eos" and not answer.answer:
        return f"The model ended its answer at once. {_other_kind(trace)}".strip()
    return f"The answer {_ended(trace)} with nothing but white space in it. {_go_on(trace)}".strip()


def _ended(trace: Trace) -> str:
    match trace.stop_reason:
        case "length":
            return "reached its limit of tokens"
        case "cancelled":
            return "was stopped"
        case "given":
            return "that was given ended"
    return "ended"


def _go_on(trace: Trace) -> str:
    return "Allow more tokens." if trace.stop_reason == "length" else ""


def _other_kind(trace: Trace) -> str:
    if trace.stop_reason == "eos" and (trace.chat_applied or trace.prompt_form == "templated"):
        return (
            "The chat template was applied, and base models often end at once after it: if this is a base model, treat "
            "it as one (kind: base)."
        )
    if trace.kind == "base":
        return (
            "No chat template was applied, and chat models often give an empty answer without it: if this is a chat "
            "model, treat it as one (kind: instruct)."
        )
    if trace.prompt_form == "ids":
        return "The prompt was given as token ids, which may lack the chat template: give text or messages."
    if not trace.chat_applied and trace.prompt_form != "templated":
        return "It is a chat model, and no chat template was applied: leave out chat=False."
    return ""
