"""Messages as the dictionaries that a chat template reads, in the forms in which templates take them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from rauq.trace.messages import TOOL_CALLS, Message, is_deep

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


def with_arguments_changed(turn: Turn, form: Form, change: Callable[[int, Any], Any]) -> Turn:
    """A message in this form with each text, number and boolean in the arguments of its calls changed.

    `change` gets its place among them, counted from 0, and its value.
    """
    places = count()

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [changed(inner) for inner in value]
        return value if value is None else change(next(places), value)

    def arguments(given: Any) -> Any:
        found = changed(_as_record(given))
        return _as_text(found) if form.arguments_as_text else found

    return turn | {TOOL_CALLS: _with_arguments(turn[TOOL_CALLS], arguments)}


def _turn(message: Message, form: Form) -> Turn:
    content: Any = message.content
    if form.own_parts and message.parts:
        content = [text_part(text) for text in message.parts]
    elif message.role in form.in_parts:
        content = [text_part(message.content)] if message.content else []
    written = _as_text if form.arguments_as_text else _as_record
    fields = {
        name: _with_arguments(value, written) if name == TOOL_CALLS else value for name, value in message.fields.items()
    }
    return {**fields, "role": message.role, "content": content}


def _with_arguments(given: Any, change: Callable[[Any], Any]) -> Any:
    """Calls, or one of them, with their arguments changed."""
    if isinstance(given, list):
        return [_with_arguments(call, change) for call in given]
    if not isinstance(given, dict):
        return given
    changes: dict[str, Any] = {}
    if "function" in given:
        changes["function"] = _with_arguments(given["function"], change)
    if "arguments" in given:
        changes["arguments"] = change(given["arguments"])
    return given | changes


def _as_text(arguments: Any) -> Any:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _as_record(arguments: Any) -> Any:
    try:
        record = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments
    return record if isinstance(record, dict) and not is_deep(record) else arguments
