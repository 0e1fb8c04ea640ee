"""What a URL says besides settings: which answer, or what to ask which model; what is selected, what is marked."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast, get_args
from urllib.parse import urlencode

from pages.ui.hosting import MOST_TOKENS
from rauq.errors import InvalidInput
from rauq.messages import Message, TemplateOptions, checked_options, messages_of
from rauq.sampling import Sampling
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
CONTEXT, OPTIONS = "context", "template_options"
TEMPERATURE, TOP_P, SEED, END = "temperature", "top_p", "seed", "end"
ASKS = (PROMPT, ANSWER, MODEL, KIND, LIMIT, CONTEXT, OPTIONS, TEMPERATURE, TOP_P, SEED, END)
LAYER, HEAD, TOKEN, COLOUR = "layer", "head", "token", "colour"
SELECTED = (LAYER, HEAD, TOKEN)

LONGEST = 4000  # characters; what every browser and most places to paste a link into take
USUAL_TOKENS = 128
TEMPERATURES = (0.05, 2.0)
LEAST_TOP_P = 0.05
LARGEST_SEED = 999_999_999
_DECIMAL = re.compile(r"\d(\.\d{1,4})?", re.ASCII)
_ENDS = {"0": False, "1": True}
_NONE = "none"
_TOKENS = re.compile(r"\d{1,5}([.]\d{1,5}){0,999}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An answer that a link asks for: to be generated, or, where `answer` is given, to be scored.

    `context` are the messages before the prompt, `template_options` variables of the chat template. `sampling` of None
    is greedy. `end`: whether the end token is appended to `answer`; None: for an instruct model.
    """

    prompt: str
    answer: str | None = None
    model: str = "atlas"
    kind: Kind | None = None
    max_new_tokens: int = USUAL_TOKENS
    context: tuple[Message, ...] = ()
    template_options: TemplateOptions = field(default_factory=dict)
    sampling: Sampling | None = None
    end: bool | None = None


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
        context=read_context(query.get(CONTEXT, "")) or (),
        template_options=read_options(query.get(OPTIONS, "")) or {},
        sampling=read_sampling(query),
        end=_ENDS.get(query.get(END, "")),
    )


def read_sampling(query: Mapping[str, str]) -> Sampling | None:
    """The sampling that a link asks for; None where it asks for none, or for what cannot be used."""
    temperature, top_p = (query.get(name, "1") for name in (TEMPERATURE, TOP_P))
    seed = number(query.get(SEED, ""))
    if seed is None or not (_DECIMAL.fullmatch(temperature) and _DECIMAL.fullmatch(top_p)):
        return None
    try:
        asked = Sampling(temperature=float(temperature), top_p=float(top_p), seed=seed)
    except InvalidInput:
        return None
    return asked if _is_offered(asked) else None


def _is_offered(sampling: Sampling) -> bool:
    """Whether the fields of the form can hold it."""
    lowest, highest = TEMPERATURES
    usual = sampling.top_k == Sampling().top_k and sampling.top_p >= LEAST_TOP_P
    known = sampling.seed is not None and sampling.seed <= LARGEST_SEED
    digits = all(round(value, 4) == value for value in (sampling.temperature, sampling.top_p))
    return usual and known and digits and lowest <= sampling.temperature <= highest


def read_context(text: str) -> tuple[Message, ...] | None:
    """The messages before a prompt, from pairs of role and content in JSON; None where they cannot be used."""
    try:
        pairs = json.loads(text)
        context = [Message(role=role, content=content) for role, content in pairs]
        messages_of([*context, Message(role="user", content="?")])
    except (InvalidInput, TypeError, ValueError, RecursionError):
        return None
    return tuple(context) if isinstance(pairs, list) else None


def read_options(text: str) -> TemplateOptions | None:
    """Options of a chat template, from JSON; None where they cannot be used."""
    try:
        return checked_options(json.loads(text))
    except (ValueError, RecursionError):
        return None


def asking(trace: Trace) -> Asked:
    """What leads to this answer again: the prompt alone where the model would give it anyway, else the answer too."""
    kind = None if trace.model == "atlas" else trace.kind
    length = len(trace.answer_ids)
    ended = trace.stop_reason == "eos"
    sampled = trace.sampling is not None and _is_offered(trace.sampling) and trace.stop_reason != "cancelled"
    if not ((trace.is_greedy or sampled) and length <= MOST_TOKENS):
        end = None if ended == (trace.kind == "instruct") else ended
        return _asked(trace, kind=kind, answer=trace.answer, end=end)
    limit = length if trace.stop_reason == "length" else max(length, USUAL_TOKENS)
    return _asked(trace, kind=kind, max_new_tokens=limit, sampling=trace.sampling if sampled else None)


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


def _asked(trace: Trace, **how: Any) -> Asked:  # noqa: ANN401 - fields of Asked
    context, options = trace.messages[:-1], dict(trace.template_options)
    return Asked(prompt=trace.prompt, model=trace.model, context=context, template_options=options, **how)


def _written(asked: Asked) -> dict[str, str]:
    limit = None if asked.max_new_tokens == USUAL_TOKENS else str(asked.max_new_tokens)
    model = None if asked.model == "atlas" else asked.model
    context = [(message.role, message.content) for message in asked.context]
    parts = {PROMPT: asked.prompt, ANSWER: asked.answer, MODEL: model, KIND: asked.kind, LIMIT: limit}
    parts[CONTEXT] = json.dumps(context, ensure_ascii=False) if context else None
    parts[OPTIONS] = json.dumps(dict(asked.template_options)) if asked.template_options else None
    parts[END] = None if asked.end is None else str(int(asked.end))
    if asked.sampling is not None:
        decimals = {TEMPERATURE: f"{asked.sampling.temperature:g}", TOP_P: f"{asked.sampling.top_p:g}"}
        parts |= decimals | {SEED: str(asked.sampling.seed)}
    return {name: value for name, value in parts.items() if value is not None}
