"""What a chat template does not know of messages, their role or a field, and what it did to the text of others."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rauq.errors import InvalidInput
from rauq.model.templates.template import FAILURES, Written, render
from rauq.model.templates.turns import Turn, turns_of
from rauq.trace.messages import THINKING_FIELDS, TOOL_CALLS, Message, TemplateOptions, default_template


def check_known(tokenizer: Any, messages: Sequence[Message], options: TemplateOptions, written: Written) -> None:
    """Refuse roles that the template writes as another one, and fields that it does not write.

    Raises:
        InvalidInput: there is such a role or field; the message names it.
    """
    turns = turns_of(messages, written.form)

    def changes_nothing(other: Sequence[Turn]) -> bool:
        try:
            return render(tokenizer, other, options) == written.text
        except FAILURES:
            return False

    for role in dict.fromkeys(message.role for message in messages):
        if role in ("tool", "developer"):
            _check_role(role, turns, changes_nothing)
    for place, message in enumerate(messages):
        for name in message.fields:
            if not _may_be_left_out(tokenizer, messages, place, name):
                _check_field(name, place, turns, changes_nothing)


def _check_role(role: str, turns: Sequence[Turn], changes_nothing: Callable[[Sequence[Turn]], bool]) -> None:
    for other in ("user", "assistant"):
        if changes_nothing([turn | {"role": other} if turn["role"] == role else turn for turn in turns]):
            message = (
                f"The chat template of this tokenizer does not know the role {role}: it writes such a message as one "
                f"of role {other}. If that is what you mean, give the message that role."
            )
            raise InvalidInput(message)


def _check_field(
    name: str, place: int, turns: Sequence[Turn], changes_nothing: Callable[[Sequence[Turn]], bool]
) -> None:
    """Refuse a field without which the template writes the same; one message at a time, as it may write others'."""
    if changes_nothing([*turns[:place], _without(turns[place], name), *turns[place + 1 :]]):
        message = (
            f"The chat template of this tokenizer does not use the field {name} of message {place} (counted from "
            f"0), of role {turns[place]['role']}, so the model would not see it. Leave that field out."
        )
        raise InvalidInput(message)


def notes_on(messages: Sequence[Message], written: Written) -> Iterator[str]:
    """What the template did to the text of messages, in sentences; nothing where it wrote it as it was given."""
    given_in_parts = any(message.parts for message in messages)
    if written.form.in_parts or written.form.own_parts:
        yield "The chat template takes text in parts, so it was given in that form."
    elif given_in_parts:
        yield "The chat template takes one text a message, so text parts were joined, with a line break between them."
    said = [part for message in messages if message.role != "assistant" for part in message.parts or (message.content,)]
    if any(part.strip() not in written.text for part in said):
        yield "The chat template escapes some characters of the text, and the model sees them in that form."


def _without(turn: Turn, name: str) -> Turn:
    return {other: value for other, value in turn.items() if other != name}


def _may_be_left_out(tokenizer: Any, messages: Sequence[Message], place: int, name: str) -> bool:
    """Whether a template may leave out this field on purpose: thinking of earlier answers, or what is said twice."""
    if name in THINKING_FIELDS:
        return bool(re.search(rf"\b{name}\b", default_template(tokenizer.chat_template) or ""))
    return _repeats(messages, place, name)


def _repeats(messages: Sequence[Message], place: int, name: str) -> bool:
    """Whether the id or name of a tool's result is that of its call, which it follows in the same order."""
    if messages[place].role != "tool" or name not in ("tool_call_id", "name"):
        return False
    before = next((back for back in range(place - 1, -1, -1) if messages[back].role != "tool"), place)
    calls = messages[before].fields.get(TOOL_CALLS, [])
    call = calls[place - before - 1] if isinstance(calls, list) and place - before <= len(calls) else None
    if not isinstance(call, dict):
        return False
    named = call if name == "tool_call_id" else call.get("function", call)
    own = named.get("id" if name == "tool_call_id" else "name") if isinstance(named, dict) else None
    return bool(own == messages[place].fields[name])
