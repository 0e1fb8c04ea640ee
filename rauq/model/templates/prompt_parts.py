"""Where the parts of a prompt are: messages of a conversation, what stands between markers, or spans of the text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from rauq.errors import InvalidInput
from rauq.model.templates.template import FAILURES, render, ways_to_write, write
from rauq.model.templates.turns import turns_of
from rauq.trace.messages import Message, TemplateOptions
from rauq.trace.prompt_parts import PromptPart, Span, checked_spans, marked_spans, numbered, tokens_of

PromptParts = Literal["roles"] | Sequence[str] | Sequence[tuple[str, int, int]]

_PROBE = re.compile("\ue000(\\d+)\ue001")
_WAYS = (
    "Give prompt_parts='roles' for the messages of a chat, names of markers such as ('document', 'question') for what "
    "stands between <document> and </document>, or spans such as [('document', 0, 250)] in code points of the prompt."
)
_OTHER_WAYS = "Put markers such as <document> and </document> around the parts, and give prompt_parts=('document',)."


def find_prompt_parts(
    given: Any,
    texts: Sequence[str],
    *,
    text: str,
    tokenizer: Any,
    messages: Sequence[Message],
    options: TemplateOptions,
) -> tuple[PromptPart, ...]:
    """The parts of a prompt whose M tokens have these `texts`; `messages` are those that the chat template wrote.

    `text` is what spans refer to: the prompt, or the content of the last message.

    Raises:
        InvalidInput: the parts that are given cannot be used, or are not in the prompt.
    """
    whole = "".join(texts)
    are_names = {isinstance(one, str) for one in given} if isinstance(given, list | tuple) else set()
    if isinstance(given, str) and given == "roles":
        spans = numbered(_by_role(whole, tokenizer, messages, options))
    elif are_names == {True}:
        spans = marked_spans(whole, given)
    elif are_names == {False}:
        inside = _content(whole, text, tokenizer, messages, options)
        spans = _placed(checked_spans(given, len(text)), text, whole, inside)
    else:
        message = f"Got prompt_parts={given!r:.200}. {_WAYS}"
        raise InvalidInput(message)
    return tokens_of(spans, texts)


def _by_role(whole: str, tokenizer: Any, messages: Sequence[Message], options: TemplateOptions) -> Iterator[Span]:
    if not messages:
        message = (
            "Got prompt_parts='roles' for a prompt to which no chat template was applied, so that it has no messages. "
            f"{_OTHER_WAYS}"
        )
        raise InvalidInput(message)
    for one, start, end in _contents(whole, tokenizer, messages, options):
        yield Span(one.role, start, end)


def _content(
    whole: str, text: str, tokenizer: Any, messages: Sequence[Message], options: TemplateOptions
) -> tuple[int, int]:
    """Where the text that spans refer to stands in the whole prompt."""
    if messages:
        _, start, end = list(_contents(whole, tokenizer, messages, options))[-1]
        if whole[start:end] in (text, text.strip()):
            return start, end
    else:
        for way in (text, text.strip()):
            if (start := whole.rfind(way)) >= 0:
                return start, start + len(way)
    message = (
        f"The model sees the text of this prompt otherwise than it was given, so spans cannot be used. {_OTHER_WAYS}"
    )
    raise InvalidInput(message)


def _placed(spans: Sequence[Span], text: str, whole: str, inside: tuple[int, int]) -> list[Span]:
    """Spans of a text as those of the whole prompt, in which it may stand without the white space around it."""
    start, end = inside
    left_out = len(text) - len(text.lstrip()) if whole[start:end] == text.strip() else 0
    shift = start - left_out
    return [Span(span.name, max(start, span.start + shift), min(end, span.end + shift)) for span in spans]


def _contents(
    whole: str, tokenizer: Any, messages: Sequence[Message], options: TemplateOptions
) -> Iterator[tuple[Message, int, int]]:
    """Each message that has a content, with the first character of it in the prompt and the one after its last.

    What the template writes between the contents is known from texts that no template has in their place.
    """
    written = write(tokenizer, messages, options)
    probes = [
        replace(one, content=f"\ue000{place}\ue001" if one.content.strip() else one.content, parts=())
        for place, one in enumerate(messages)
    ]
    try:
        frame = render(tokenizer, turns_of(probes, written.form), options)
    except FAILURES:
        frame = ""
    between, places = _PROBE.split(frame)[::2], [int(place) for place in _PROBE.findall(frame)]
    if frame and written.text in whole and written.text.startswith(between[0]):
        position = whole.index(written.text) + len(between[0])
        for place, after in zip(places, between[1:], strict=True):
            end = _end_of(messages[place], whole, position, after)
            if end is None:
                break
            yield messages[place], position, end
            position = end + len(after)
        else:
            return
    message = (
        "The chat template of this tokenizer writes these messages in a way in which their texts are not told apart. "
        f"{_OTHER_WAYS}"
    )
    raise InvalidInput(message)


def _end_of(message: Message, whole: str, start: int, after: str) -> int | None:
    """Where a content ends that begins at `start`, with `after` behind it; None where it is not there.

    Of earlier answers, the template may leave out their thinking.
    """
    for way in (message.content, *ways_to_write(message.content)):
        if whole.startswith(way + after, start):
            return start + len(way)
    end = whole.find(after, start)
    is_shortened = message.role == "assistant" and end > start and whole[start:end] in message.content
    return end if is_shortened else None
