"""The answers to one request as a response: whole, or as server-sent events."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from serve import LOG
from serve.job import Ended, Event, Failed, Grown
from serve.numbers import Scored, scored, seen_texts
from serve.refusals import refusal_of, where
from serve.responses import Head, logprobs_of, usage
from serve.service import Answers

_log = logging.getLogger(LOG)
DONE = "data: [DONE]\n\n"
Told = tuple[list[dict[str, Any]], object]


@dataclass(eq=False)
class _Sent:
    """What a client has been sent of one answer: characters, and tokens with their numbers."""

    characters: int = 0
    tokens: int = 0


async def whole(answers: Answers, head: Head) -> dict[str, Any]:
    """The response once all answers have ended.

    Raises:
        Exception: why one has failed.
    """
    ended: dict[int, Ended] = {}
    while len(ended) < len(answers.jobs):
        index, event = await answers.events.get()
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Ended):
            ended[index] = event
    return await asyncio.to_thread(_response, answers, head, [ended[index] for index in sorted(ended)])


def _response(answers: Answers, head: Head, ended: Sequence[Ended]) -> dict[str, Any]:
    rows = [_finished(answers, one, first=0) for one in ended]
    choices = [
        head.whole(index, one, logprobs, numbers)
        for index, (one, (logprobs, numbers)) in enumerate(zip(ended, rows, strict=True))
    ]
    return head.response(choices, chunk=False, usage=_usage(answers, ended, [numbers for _, numbers in rows]))


def _finished(answers: Answers, ended: Ended, *, first: int) -> tuple[object, dict[str, Any] | None]:
    """Log-probabilities of the tokens from a first one on, and the numbers of the answer, where they are wanted."""
    if not answers.is_scored:
        return None, None
    found = answers.service.score(ended)
    numbers = answers.service.numbers(found, ended, base=answers.base)
    return (_logprobs(answers, found, first), numbers) if answers.wants_numbers else (None, None)


def _logprobs(answers: Answers, found: Scored, first: int) -> object:
    alternatives = answers.asked.alternatives
    if alternatives is None:
        return None
    return logprobs_of(answers.kind, found, first=first, alternatives=alternatives)


def _usage(answers: Answers, ended: Sequence[Ended], numbers: Sequence[object]) -> dict[str, Any]:
    """Counts of tokens; with the numbers of the answer if there is one, since a list of them would break clients."""
    return usage(answers.num_prompt, ended, numbers[0] if len(numbers) == 1 else None)


async def begun(answers: Answers) -> tuple[int, Event]:
    """The first that happens to one of the answers, with the index of its choice.

    Raises:
        Exception: why there will be none.
    """
    index, event = await answers.events.get()
    if isinstance(event, Failed):
        raise event.error
    return index, event


async def events(answers: Answers, head: Head, first: tuple[int, Event]) -> AsyncIterator[str]:
    """The chunks of a stream, of which the first event is known; an error is told in place of the rest."""
    try:
        async for chunk in _chunks(answers, head, first):
            yield _data(chunk)
        yield DONE
    except Exception as error:  # noqa: BLE001 - the status is sent already, and the server goes on
        _log.error("stream failed: %s", where(error))
        yield _data(refusal_of(error).body)


async def _chunks(answers: Answers, head: Head, first: tuple[int, Event]) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of the chunks.

    Raises:
        Exception: why an answer has failed.
    """
    sent = [_Sent() for _ in answers.jobs]
    ended: list[Ended] = []
    numbers: object = None
    for begin in filter(None, map(head.first, range(len(answers.jobs)))):
        yield head.response(begin, chunk=True)
    async for index, event in _following(answers, first):
        if isinstance(event, Failed):
            raise event.error
        choices, numbers = await _told(answers, partial(_choices, answers, head, index, event, sent[index]), event)
        for choice in choices:
            yield head.response([choice], chunk=True)
        ended += [event] if isinstance(event, Ended) else []
    if answers.asked.include_usage:
        yield head.response([], chunk=True, usage=_usage(answers, ended, [numbers] * len(ended)))


async def _following(answers: Answers, first: tuple[int, Event]) -> AsyncIterator[tuple[int, Event]]:
    """What happens to the answers, from the first event to the end of the last answer."""
    growing, (index, event) = len(answers.jobs), first
    while True:
        growing -= isinstance(event, Ended)
        yield index, event
        if not growing:
            return
        index, event = await answers.events.get()


async def _told(answers: Answers, choices: Callable[[], Told], event: Grown | Ended) -> Told:
    """The choices of an event; those with numbers are made in a thread, since others are served meanwhile."""
    is_light = event.trace is None if isinstance(event, Grown) else not answers.is_scored
    return choices() if is_light else await asyncio.to_thread(choices)


def _choices(answers: Answers, head: Head, index: int, event: Grown | Ended, sent: _Sent) -> Told:
    """The choices of the next chunks, and the numbers of the answer once it has ended."""
    if isinstance(event, Ended):
        logprobs, numbers = _finished(answers, event, first=sent.tokens)
        text = event.text[sent.characters :]
        pieces = [head.piece(index, text, logprobs, numbers)] if text or numbers is not None else []
        return [*pieces, head.last(index, event)], numbers
    text, logprobs = event.text, None
    if event.trace is not None:
        text = _whole_tokens(event.trace.answer_tokens, len(event.text))
        found = scored(event.trace, answers.service.settings, len(text))
        logprobs = _logprobs(answers, found, sent.tokens)
        sent.tokens = len(found.texts)
    begin, sent.characters = sent.characters, len(text)
    return ([head.piece(index, text[begin:], logprobs)] if len(text) > begin else []), None


def _whole_tokens(texts: Sequence[str], length: int) -> str:
    """The text of the tokens that end before this place or at it."""
    seen = seen_texts(texts, length)
    is_cut = bool(seen) and seen[-1] != texts[len(seen) - 1]
    return "".join(seen[:-1] if is_cut else seen)


def _data(chunk: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False, allow_nan=False)}\n\n"
