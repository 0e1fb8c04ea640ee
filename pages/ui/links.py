"""What a URL says besides settings: which answer, or what to ask which model; what is selected, what is marked."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, get_args
from urllib.parse import urlencode

from rauq.trace import Kind, Trace

EXAMPLE, KEPT, WRONG = "example", "kept", "wrong"
RUN, NUMBER = "run", "number"  # an answer of a run: the run's name, and the number of its example
FROM = "from"  # the page about that run that led to the answer
VIEW, TOKENS, OFFSET, COUNT, CORRECT, INCORRECT = "view", "tokens", "offset", "k", "above", "below"
METRIC, METHOD, METHODS, TABLE, PUBLISHED = "metric", "method", "methods", "table", "published"
FILTERS = GROUP, QUALITY, LENGTH, TEXT = "group", "quality", "length", "text"
OF_VIEW = (VIEW, TOKENS, OFFSET, COUNT, CORRECT, INCORRECT, METRIC, METHOD, METHODS, TABLE, PUBLISHED, *FILTERS)
OF_RUN = (RUN, NUMBER, FROM, *OF_VIEW)  # and the view that led to it
PROMPT, ANSWER, MODEL, KIND, LIMIT = "prompt", "answer", "model", "kind", "max_new_tokens"
ASKS = (PROMPT, ANSWER, MODEL, KIND, LIMIT)
LAYER, HEAD, TOKEN, COLOUR = "layer", "head", "token", "colour"
SELECTED = (LAYER, HEAD, TOKEN)

LONGEST = 4000  # characters; what every browser and most places to paste a link into take
MOST_TOKENS = 1024
USUAL_TOKENS = 128
_NONE = "none"
_TOKENS = re.compile(r"\d{1,5}([.]\d{1,5}){0,999}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An answer that a link asks for: to be generated, or, where `answer` is given, to be scored."""

    prompt: str
    answer: str | None = None
    model: str = "atlas"
    kind: Kind | None = None
    max_new_tokens: int = USUAL_TOKENS


class Read(NamedTuple):
    """What parameters of a URL say, by their names, and the names of those that cannot be used."""

    values: dict[str, Any]
    wrong: tuple[str, ...]


def read(query: Mapping[str, str], parsers: Mapping[str, Callable[[str], Any]]) -> Read:
    """Read the parameters that have a parser, which returns None for a text that cannot be used."""
    found = {name: parse(query[name]) for name, parse in parsers.items() if name in query}
    usable = {name: value for name, value in found.items() if value is not None}
    return Read(usable, tuple(name for name in found if name not in usable))


def one_of(allowed: Iterable[Any]) -> Callable[[str], Any]:
    """A parser that lets these values through."""
    return {str(value): value for value in allowed}.get


def read_asked(query: Mapping[str, str]) -> Asked | None:
    """What a link asks for; None where it brings no prompt."""
    if not query.get(PROMPT):
        return None
    limit = number(query.get(LIMIT, ""))
    kind = query.get(KIND)
    return Asked(
        prompt=query[PROMPT],
        answer=query.get(ANSWER),
        model=query.get(MODEL) or "atlas",
        kind=cast("Kind", kind) if kind in get_args(Kind) else None,
        max_new_tokens=USUAL_TOKENS if limit is None else min(max(limit, 1), MOST_TOKENS),
    )


def asking(trace: Trace) -> Asked:
    """What leads to this answer again: the prompt alone where the model would give it anyway, else the answer too."""
    kind = None if trace.model == "atlas" else trace.kind
    length = len(trace.answer_ids)
    if not (trace.is_greedy and length <= MOST_TOKENS):
        return Asked(prompt=trace.prompt, answer=trace.answer, model=trace.model, kind=kind)
    limit = length if trace.stop_reason == "length" else max(length, USUAL_TOKENS)
    return Asked(prompt=trace.prompt, model=trace.model, kind=kind, max_new_tokens=limit)


def link(base: str, query: Mapping[str, str], trace: Trace) -> str | None:
    """A link that opens on this answer anywhere; None where it would be longer than LONGEST.

    A recorded answer, and one of a run, is named. Any other is brought by its prompt, which stands in a URL for this
    purpose alone.
    """
    kept = {name: value for name, value in query.items() if name not in (KEPT, *ASKS)}
    if trace.wrong:  # they may have come with a file, and not stand in the URL yet
        kept[WRONG] = written_wrong(trace.wrong)
    if EXAMPLE not in query and RUN not in query:
        kept |= _written(asking(trace))
    found = f"{base}?{urlencode(kept, errors='replace')}"
    return found if len(found) <= LONGEST else None


def comparing(name: str, wrong: Iterable[int]) -> dict[str, str]:
    """URL parameters with which the page Compare opens on this answer, its marks along with it."""
    marks = written_wrong(wrong)
    return {"a": name} | ({} if marks == _NONE else {"a_wrong": marks})


def read_wrong(text: str, num_tokens: int) -> tuple[tuple[int, ...], bool]:
    """Tokens marked as wrong, and whether the whole text could be used."""
    if text == _NONE:
        return (), True
    asked = {int(token) for token in text.split(".")} if _TOKENS.fullmatch(text) else {-1}
    inside = {token for token in asked if 0 <= token < num_tokens}
    return tuple(sorted(inside)), inside == asked


def written_wrong(tokens: Iterable[int]) -> str:
    """Tokens marked as wrong, for `read_wrong`."""
    return ".".join(map(str, sorted(tokens))) or _NONE


def number(text: str) -> int | None:
    """A number that stands in a URL, from 0 up; None where it is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _written(asked: Asked) -> dict[str, str]:
    limit = None if asked.max_new_tokens == USUAL_TOKENS else str(asked.max_new_tokens)
    model = None if asked.model == "atlas" else asked.model
    parts = {PROMPT: asked.prompt, ANSWER: asked.answer, MODEL: model, KIND: asked.kind, LIMIT: limit}
    return {name: value for name, value in parts.items() if value is not None}
