"""Messages as the dictionaries that a chat template reads, in the forms in which templates take them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rauq.trace.messages import TOOL_CALLS, Message

Turn = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Form:
    """How messages are handed to a template.

    `in_parts` are the roles whose content is a list of one text part, `own_parts` whether a content that was given in
    parts is a list of these, and `arguments_as_text` whether the arguments of calls are JSON in place of a record.
    """

    in_parts: frozenset[str] = frozenset()
    own_parts: bool = False
    arguments_as_text: bool = False


def turns_of(messages: Sequence[Message], form: Form) -> list[Turn]:
    """The dictionaries of a conversation in this form."""
    return [_turn(message, form) for message in messages]


def text_part(text: str) -> dict[str, str]:
    """A content part of text, as OpenAI writes it."""
    return {"type": "text", "text": text}


def calls_in(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The functions that a message calls, each with its name and arguments."""
    calls = turn.get(TOOL_CALLS)
    given = calls if isinstance(calls, list) else []
    functions = [call.get("function", call) for call in given if isinstance(call, dict)]
    return [function for function in functions if isinstance(function, dict)]


def texts_in(value: object) -> Iterator[str]:
    """All texts in some data of JSON, without the names in its records."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


def _turn(message: Message, form: Form) -> Turn:
    content: Any = message.content
    if form.own_parts and message.parts:
        content = [text_part(text) for text in message.parts]
    elif message.role in form.in_parts:
        content = [text_part(message.content)] if message.content else []
    fields = {
        name: _with_arguments(value, as_text=form.arguments_as_text) if name == TOOL_CALLS else value
        for name, value in message.fields.items()
    }
    return {**fields, "role": message.role, "content": content}


def _with_arguments(given: Any, *, as_text: bool) -> Any:
    """Calls, or one of them, with their arguments in the form that is asked for."""
    if isinstance(given, list):
        return [_with_arguments(call, as_text=as_text) for call in given]
    if not isinstance(given, dict):
        return given
    changes: dict[str, Any] = {}
    if "function" in given:
        changes["function"] = _with_arguments(given["function"], as_text=as_text)
    if "arguments" in given:
        changes["arguments"] = _arguments(given["arguments"], as_text=as_text)
    return given | changes


def _arguments(given: Any, *, as_text: bool) -> Any:
    if as_text:
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    try:
        record = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given
    return record if isinstance(record, dict) else given
