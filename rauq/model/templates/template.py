"""The chat template of a tokenizer: what it writes for messages, and whether all of their text is in it."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jinja2 import TemplateError

from rauq.errors import InvalidInput
from rauq.model.templates.turns import Form, Turn, calls_in, text_part, texts_in, turns_of, with_arguments_changed
from rauq.trace.messages import TOOL_CALLS, Message, TemplateOptions, default_template, option_names

_PROBE = 7_310_000_001  # numbers from here on stand for arguments of calls; no conversation has them
_PROBES = re.compile(r"731\d{7}")
_MOST_CHANGED = 300  # arguments of one message, each of which costs the template once more
FAILURES = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a template wrote, and the form in which it takes messages."""

    text: str
    form: Form


def render(tokenizer: Any, turns: Sequence[Mapping[str, Any]], options: TemplateOptions) -> str:
    """The template applied to dictionaries, up to where the assistant begins; one of FAILURES is raised if it fails."""
    rendered: str = tokenizer.apply_chat_template(
        list(turns),
        chat_template=default_template(tokenizer.chat_template),
        add_generation_prompt=True,
        tokenize=False,
        **options,
    )
    return rendered


def write(tokenizer: Any, messages: Sequence[Message], options: TemplateOptions) -> Written:
    """What the template writes for a conversation, in the first form in which it leaves nothing out.

    Raises:
        InvalidInput: no template, or one that fails, leaves out or changes a message, or has no such option.
    """
    _check_template(tokenizer.chat_template, options)
    problems = []
    for form in _forms(tokenizer, messages, options):
        try:
            text = render(tokenizer, turns_of(messages, form), options)
        except FAILURES as error:
            problems.append(_refusal(messages, error))
            continue
        left_out = _left_out(tokenizer, messages, options, form)
        left_out |= _short_of_arguments(tokenizer, turns_of(messages, form), options, form)
        lost = next(_lost(messages, form, text, left_out=left_out), None)
        if lost is None:
            return _with_own_parts(tokenizer, messages, options, Written(text=text, form=form))
        problems.append(_left_out_message(messages, lost))
    raise InvalidInput(problems[0])


def written_or_empty(tokenizer: Any, messages: Sequence[Message]) -> str:
    """What the template writes for a conversation; empty where there is none, or it fails."""
    try:
        return write(tokenizer, messages, {}).text
    except InvalidInput:
        return ""


def ways_to_write(text: str) -> tuple[str, ...]:
    """How a template may write a text: as it is, then escaped as JSON or HTML."""
    plain = text.strip()
    return plain, _as_json(plain)[1:-1], json.dumps(plain)[1:-1], html.escape(plain), _html(plain)


def _html(text: str) -> str:
    """As the filter `escape` of Jinja writes it."""
    return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _check_template(template: str | Mapping[str, str] | None, options: TemplateOptions) -> None:
    if not template:
        message = (
            "This model has no chat template, which messages, a system prompt and the kind instruct need. Give the "
            "prompt as one text, with the kind base, or choose a chat model."
        )
        raise InvalidInput(message)
    if default_template(template) is None:
        message = (
            f"This model has several chat templates, {', '.join(sorted(template))}, and none of them is the default "
            "one. Treat it as a base model (kind: base), with a prompt that contains the marks of a template."
        )
        raise InvalidInput(message)
    names = option_names(template) if options else ()
    for name in options:
        if name not in names:
            known = f"its options are {', '.join(names)}" if names else "it has no options"
            message = f"The chat template of this tokenizer has no option {name}; {known}. Leave it out."
            raise InvalidInput(message)


def _forms(tokenizer: Any, messages: Sequence[Message], options: TemplateOptions) -> Iterator[Form]:
    """Plain text first; then parts for the roles that it leaves out, for all, all but the system, the user alone."""
    roles = frozenset(message.role for message in messages)
    has_calls = any(TOOL_CALLS in message.fields for message in messages)
    for as_text in (False, True) if has_calls else (False,):
        plain = Form(arguments_as_text=as_text)
        yield plain
        lost = frozenset(messages[place].role for place in _left_out(tokenizer, messages, options, plain))
        for in_parts in dict.fromkeys((lost, roles, roles - {"system", "developer"}, roles & {"user"})):
            if in_parts:
                yield replace(plain, in_parts=in_parts)


def _left_out(tokenizer: Any, messages: Sequence[Message], options: TemplateOptions, form: Form) -> set[int]:
    """Messages whose content the template does not write, whatever it is; none are known where it fails.

    Their contents are replaced by texts that no template has, so that a message "User" is not found in "User:".
    """
    probes = {place: f"\ue000{place}\ue001" for place, message in enumerate(messages) if message.content.strip()}
    asked = [
        replace(message, content=probes.get(place, message.content), parts=()) for place, message in enumerate(messages)
    ]
    try:
        text = render(tokenizer, turns_of(asked, form), options)
    except FAILURES:
        return set()
    # A template that takes no parts writes them as data: as Python's, in which the probe is escaped, or as JSON.
    return {place for place, probe in probes.items() if probe not in text or _as_json(text_part(probe)) in text}


def _short_of_arguments(tokenizer: Any, turns: Sequence[Turn], options: TemplateOptions, form: Form) -> set[int]:
    """Messages with calls of which the template does not write a text, a number or a boolean in the arguments."""

    def written(place: int, change: Callable[[int, Any], Any]) -> str | None:
        changed = with_arguments_changed(turns[place], form, change)
        try:
            return render(tokenizer, [*turns[:place], changed, *turns[place + 1 :]], options)
        except FAILURES:
            return None

    places = (place for place, turn in enumerate(turns) if TOOL_CALLS in turn)
    return {place for place in places if _leaves_out_argument(partial(written, place))}


def _leaves_out_argument(written: Callable[[Callable[[int, Any], Any]], str | None]) -> bool:
    """Whether what is written stays the same if one of the arguments is changed, all others being as they are.

    Only those are changed one by one that are not found where all are changed at once: all booleans, mostly.
    """
    values: dict[int, Any] = {}
    plain, seen = written(values.setdefault), set(_PROBES.findall(written(_other) or ""))
    unseen = [place for place in values if str(_PROBE + place) not in seen]
    return any(written(partial(_other_at, place)) == plain for place in unseen[:_MOST_CHANGED])


def _other(place: int, value: Any) -> Any:
    """Another value of the same type, since a template may write each type in its own way."""
    return not value if isinstance(value, bool) else type(value)(_PROBE + place)


def _other_at(changed: int, place: int, value: Any) -> Any:
    return _other(place, value) if place == changed else value


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lost(messages: Sequence[Message], form: Form, text: str, *, left_out: set[int]) -> Iterator[int]:
    """Messages that the template leaves out or changes.

    Earlier answers of the assistant may be shortened, such as by their thinking.
    """
    for place, (message, turn) in enumerate(zip(messages, turns_of(messages, form), strict=True)):
        said = [] if message.role == "assistant" else [message.content]
        if place in left_out or not _are_in([*said, *_texts_of_calls(turn)], text) or _has_python(turn, text):
            yield place


def _are_in(texts: Sequence[str], text: str) -> bool:
    return all(any(way in text for way in ways_to_write(part)) for part in texts)


def _texts_of_calls(turn: Mapping[str, Any]) -> Iterator[str]:
    """Names of called functions, and texts in their arguments; arguments given as text are not to be escaped."""
    for call in calls_in(turn):
        yield from texts_in([call.get("name"), call.get("arguments")])


def _has_python(turn: Mapping[str, Any], text: str) -> bool:
    """Whether arguments of a call were written as Python would, by a template that takes them as text."""
    records = [call.get("arguments") for call in calls_in(turn)]
    written = [(repr(record), _as_json(record)) for record in records if isinstance(record, dict)]
    return any(python in text for python, as_json in written if python != as_json)


def _with_own_parts(tokenizer: Any, messages: Sequence[Message], options: TemplateOptions, written: Written) -> Written:
    """The same with several text parts as they were given, if the template takes one part as it takes its text."""
    roles = frozenset(message.role for message in messages if message.parts)
    if not roles:
        return written
    single, own = replace(written.form, in_parts=written.form.in_parts | roles), replace(written.form, own_parts=True)
    try:
        is_same = render(tokenizer, turns_of(messages, single), options) == written.text
        text = render(tokenizer, turns_of(messages, own), options)
    except FAILURES:
        return written
    parts = [part for message in messages for part in message.parts]
    return Written(text=text, form=own) if is_same and _are_in(parts, text) else written


def _refusal(messages: Sequence[Message], error: Exception) -> str:
    fails = f"The chat template of this tokenizer fails ({error})."
    if any(message.role == "tool" or message.fields for message in messages):
        return f"{fails} It may know no tools, or want them in another order: leave out the calls and their results."
    if messages[0].role in ("system", "developer"):
        first = "system prompt" if messages[0].role == "system" else "developer message"
        todo = f"Leave out the {first}, or put its text at the start of the first user message."
    elif len(messages) > 1:
        todo = "Most templates need user and assistant messages in turn, the user's first."
    else:
        todo = "Treat the model as a base model (kind: base) to leave the template out."
    return f"{fails} {todo}"


def _left_out_message(messages: Sequence[Message], place: int) -> str:
    does, role = "The chat template of this tokenizer leaves out or changes", messages[place].role
    if len(messages) == 1:
        return (
            f"{does} the text of the prompt, so the model would not see it as given. Treat the model as a base model "
            "(kind: base) to leave the template out."
        )
    if place == len(messages) - 1:
        todo = "Change its text, or give the prompt as one text that contains the marks of the template."
    else:
        todo = "Leave that message out, or put its text into the last user message."
    what = "a message" if messages[place].content else "the calls in a message"
    return (
        f"{does} {what} of role {role} (message {place}, counted from 0), so the model would not see it as given. "
        f"{todo}"
    )
