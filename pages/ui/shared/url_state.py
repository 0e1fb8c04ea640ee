"""What a URL says: which answer, or what to ask which model; what is selected; how it is scored."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, Protocol, cast, get_args
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.host.hosting import MOST_TOKENS
from rauq.errors import InvalidInput
from rauq.scoring.settings import LayerRule, Settings, resolve, window
from rauq.trace.messages import Message, TemplateOptions, checked_options, messages_of
from rauq.trace.sampling import Sampling
from rauq.trace.trace import Kind, Trace

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


_Given = ParamSpec("_Given")

_TOLD = "_told"  # by name: what stood there before, and what was written


def write(values: Mapping[str, str | None]) -> None:
    """Write parameters into the URL, or, where the value is None, take them out of it, so that this lasts."""
    told = {name: (st.query_params.get(name), value) for name, value in values.items()}
    st.session_state[_TOLD] = st.session_state.get(_TOLD, {}) | told
    update_url(values)


def forget() -> None:
    """Hold nothing any longer: the user went elsewhere."""
    st.session_state.pop(_TOLD, None)


def hold(names: Iterable[str]) -> None:
    """Write once more, under these names, what a run that began too early has brought back; call it first."""
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:  # Back is a wish, and never too early
        forget()
    told = st.session_state.get(_TOLD, {})
    undone = {}
    for name in names:
        before, after = told.get(name, (None, None))
        if before != after and st.query_params.get(name) == before:
            undone[name] = after
        else:
            told.pop(name, None)  # the browser has heard of it, or the user went elsewhere
    update_url(undone)


def by_the_user(change: Callable[_Given, None]) -> Callable[_Given, None]:
    """The callback of a widget whose value the page sets: it is called for what the user does, and for nothing else.

    What follows a job asks for its part of the page again and again, each time with the value that every widget had in
    the browser. Where the page has given a widget another value meanwhile, Streamlit takes the old one for a change. A
    user who changes a widget asks for the whole page.
    """

    @wraps(change)
    def called(*args: _Given.args, **options: _Given.kwargs) -> None:
        context = get_script_run_ctx()
        if context is None or not context.fragment_ids_this_run:
            change(*args, **options)

    return called


def put_in_url(name: str, value: str | None) -> None:
    """Write a parameter into the URL, or, where the value is None, take it out."""
    update_url({name: value})


def update_url(values: Mapping[str, str | None]) -> None:
    """Write parameters into the URL, and take out those whose value is None, in one step: so Back is one step too."""
    now = st.query_params.to_dict()
    changed = {name: value for name, value in {**now, **values}.items() if value is not None}
    if changed != now:
        st.query_params.from_dict(changed)


ALPHA, SIGNAL, ALIGNMENT, LAYERS, HEADS = "alpha", "signal", "alignment", "layers", "heads"
UPDATE, TOKEN_AGGREGATION, OVER_LAYERS, PART = "update", "token_aggregation", "layer_aggregation", "part"
SETTINGS = (SIGNAL, ALPHA, ALIGNMENT, LAYERS, HEADS, UPDATE, TOKEN_AGGREGATION, OVER_LAYERS, PART)

_ALPHA = re.compile(r"0(\.\d{1,4})?|1(\.0{1,4})?", re.ASCII)
_LAYERS = re.compile(r"\d{1,4}([.]\d{1,4}){0,255}", re.ASCII)
_HEADS = re.compile(r"\d{1,4}-\d{1,4}([.]\d{1,4}-\d{1,4}){0,255}", re.ASCII)


class ReadSettings(NamedTuple):
    """The settings that a link asks for, and what in it cannot be used: there the paper's stand in."""

    settings: Settings
    wrong: tuple[str, ...]


class Captured(Protocol):
    """What settings have to suit: a trace, or all answers of a run."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Absolute indices of the layers whose attention is there."""

    @property
    def num_layers(self) -> int:
        """All layers of the model."""

    @property
    def num_heads(self) -> int:
        """Heads of a layer."""


def read_settings(query: Mapping[str, str]) -> ReadSettings:
    """Settings from URL parameters; those that are missing follow the paper."""
    settings, wrong = Settings(), []
    for name, parse in _PARSERS.items():
        if name in query:
            try:
                settings = replace(settings, **{name: parse(query[name])})
            except (InvalidInput, ValueError):
                wrong.append(name)
    return ReadSettings(settings, tuple(wrong))


def written_settings(settings: Settings, kind: Kind) -> dict[str, str | None]:
    """URL parameters for settings; None for what is the paper's for this kind of model anyway."""
    paper = resolve(Settings(signal=settings.signal), kind)
    own = resolve(settings, kind)
    written = {name: _text(getattr(own, name)) for name in _PARSERS if getattr(own, name) != getattr(paper, name)}
    if own.signal != resolve(Settings(), kind).signal:
        written[SIGNAL] = str(own.signal)
    return {name: written.get(name) for name in _PARSERS}


def fitted(settings: Settings, captured: Captured) -> ReadSettings:
    """The settings as far as what was captured can follow: layers and heads that it lacks give way to the paper's."""
    wrong = []
    if isinstance(settings.layers, tuple):
        inside = tuple(layer for layer in settings.layers if layer in captured.layers)
        if inside != settings.layers:
            wrong.append(LAYERS)
            settings = replace(settings, layers=inside or "middle")
    if isinstance(settings.heads, tuple) and not _has_heads(dict(settings.heads), settings, captured):
        wrong.append(HEADS)
        settings = replace(settings, heads="max")
    return ReadSettings(settings, tuple(wrong))


def _has_heads(named: Mapping[int, int], settings: Settings, captured: Captured) -> bool:
    try:
        layers = window(settings, captured=captured.layers, num_layers=captured.num_layers)
    except InvalidInput:  # no layer with attention in the middle, say
        return False
    return set(layers) <= set(named) and max(named.values()) < captured.num_heads


def _text(value: Any) -> str:  # noqa: ANN401 - any field of Settings
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return ".".join("-".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value)
    return str(value)


def _alpha(text: str) -> float:
    return float(_matched(_ALPHA, text))


def _layers(text: str) -> str | tuple[int, ...]:
    return text if text in get_args(LayerRule) else tuple(map(int, _matched(_LAYERS, text).split(".")))


def _heads(text: str) -> str | tuple[tuple[int, ...], ...]:
    if text in {"max", "mean", "top5"}:
        return text
    return tuple(tuple(map(int, pair.split("-"))) for pair in _matched(_HEADS, text).split("."))


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        message = f"{text!r} is not of the form {pattern.pattern}"
        raise ValueError(message)
    return text


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        SIGNAL: str,
        ALPHA: _alpha,
        ALIGNMENT: str,
        LAYERS: _layers,
        HEADS: _heads,
        UPDATE: str,
        TOKEN_AGGREGATION: str,
        OVER_LAYERS: str,
        PART: str,
    }
)
