"""The one codec of URLs: what the address of a page says is a frozen dataclass, read and written field by field."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, get_args
from typing import get_type_hints as hints_of
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.host.hosting import MOST_TOKENS
from rauq.arguments import Sampling
from rauq.errors import InvalidInput
from rauq.labels import ENGINES, EngineName
from rauq.scoring.declaration import declared
from rauq.scoring.settings import Settings, changed, window
from rauq.trace.messages import Message, TemplateOptions, checked_options, messages_of, packed, unpacked
from rauq.trace.trace import Kind, Trace

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Form = TypeVar("Form", bound="DataclassInstance")
Value = TypeVar("Value")


def text_of(value: Any) -> str:  # noqa: ANN401 - whatever a URL can hold
    """A value as written in a URL: numbers with six digits, the parts of a tuple with dots between them."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return ".".join(map(text_of, value)) if isinstance(value, tuple) else str(value)


class Codec(NamedTuple):
    """How a value is read from a URL and written to it; `read` returns None for a text that cannot be used."""

    read: Callable[[str], Any]
    write: Callable[[Any], str] = text_of


class Read(NamedTuple, Generic[Form]):
    """What a URL asks for, and the names of the parameters that cannot be used: where the default is used."""

    asked: Form
    wrong: tuple[str, ...]


@cache
def codecs_of(form: type) -> Mapping[str, Codec]:
    """By the name of a URL parameter, the codec with which a field of the dataclass is annotated."""
    hints = {one.name: hints_of(form, include_extras=True)[one.name] for one in fields(form)}
    return MappingProxyType(
        {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    )


def read(query: Mapping[str, str], usual: Form, codecs: Mapping[str, Codec] | None = None) -> Read[Form]:
    """What the parameters of a URL ask for, where they say nothing `usual`; `codecs` of None are those of its type."""
    found, wrong = usual, []
    for name, codec in (codecs or codecs_of(type(usual))).items():
        if name in query:
            changed = _changed(found, name, codec.read(query[name]))
            found = found if changed is None else changed
            wrong += [name] if changed is None else []
    return Read(found, tuple(wrong))


def _changed(form: Form, name: str, value: object) -> Form | None:
    try:
        return None if value is None else replace(form, **{name: value})
    except InvalidInput:
        return None


def written(asked: Form, usual: Form, codecs: Mapping[str, Codec] | None = None) -> dict[str, str | None]:
    """URL parameters from which `read` gives the same; None for what is the usual anyway."""
    values = {name: (getattr(asked, name), codec) for name, codec in (codecs or codecs_of(type(usual))).items()}
    return {name: None if own == getattr(usual, name) else codec.write(own) for name, (own, codec) in values.items()}


def without(asked: Form, usual: Form, lacking: Mapping[str, bool]) -> Read[Form]:
    """The same with the usual in place of what is `lacking`, by the names of parameters."""
    wrong = tuple(name for name, lacks in lacking.items() if lacks)
    return Read(replace(asked, **{name: getattr(usual, name) for name in wrong}), wrong)


def one_of(allowed: Iterable[Any]) -> Codec:
    """The codec that lets these values through."""
    return Codec({str(value): value for value in allowed}.get)


def matching(pattern: str, value_of: Callable[[str], Value | None], *words: str) -> Callable[[str], Any]:
    """A reader of texts of this form, and of a few words that stand for themselves."""
    form = re.compile(pattern, re.ASCII)

    def read_text(text: str) -> str | Value | None:
        if text in words:
            return text
        return value_of(text) if form.fullmatch(text) else None

    return read_text


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def written_names(names: tuple[str, ...]) -> str:
    """Names of runs as written in a URL, for `NAMES`: none has a comma."""
    return ",".join(names)


NAMES = Codec(
    matching(r"[A-Za-z0-9._-]{1,64}(,[A-Za-z0-9._-]{1,64}){0,199}", lambda text: tuple(text.split(","))), written_names
)


number: Callable[[str], int | None] = matching(r"\d{1,9}", int)
"""A number from 0 up; None for any other text."""

Number = Annotated[int | None, Codec(number)]
Name = Annotated[str | None, Codec(str)]

EXAMPLE, KEPT, WRONG = "example", "kept", "wrong"
RUN, NUMBER = "run", "number"  # an answer of a run: the run's name, and the number of its example
REFERENCE = "reference"  # the run that a score is compared with
LOOP = "loop"  # "without": a loop at the end of the answer is left out
BY = "by"  # what a given answer is scored by, where it is RAUQ
GOAL, HEADS_GOAL = "goal", "heads"  # what a new run is made for
FROM = "from"  # the page about that run that led to the answer
VIEW, TOKENS, OFFSET, COUNT, CORRECT, INCORRECT = "view", "tokens", "offset", "k", "above", "below"
METRIC, METHOD, METHODS, TABLE, PUBLISHED, ADDED = "metric", "method", "methods", "table", "published", "added"
TOKEN_SIGNAL = "token_signal"  # of single tokens
FIRST, SECOND = "first", "second"  # what two maps of heads are of
LISTED = "listed"  # all answers, or those that are unclear
BESIDE, LAYOUT, INTERVALS = "beside", "layout", "intervals"  # runs beside that of the page, and their table
GROUP, QUALITY, LENGTH, TEXT = "group", "quality", "length", "text"
OF_VIEW = (
    VIEW,
    TOKENS,
    OFFSET,
    COUNT,
    CORRECT,
    INCORRECT,
    METRIC,
    METHOD,
    METHODS,
    TABLE,
    PUBLISHED,
    ADDED,
    TOKEN_SIGNAL,
    FIRST,
    SECOND,
    LISTED,
    BESIDE,
    LAYOUT,
    INTERVALS,
)
OF_RUN = (RUN, NUMBER, FROM, *OF_VIEW, GROUP, QUALITY, LENGTH, TEXT)  # and the view that led to it
PROMPT, ANSWER, MODEL, KIND, LIMIT = "prompt", "answer", "model", "kind", "max_new_tokens"
CONTEXT, OPTIONS = "context", "template_options"
TEMPERATURE, TOP_P, SEED, END, ENGINE = "temperature", "top_p", "seed", "end", "engine"
ASKS = (PROMPT, ANSWER, MODEL, KIND, LIMIT, CONTEXT, OPTIONS, TEMPERATURE, TOP_P, SEED, END, ENGINE)
LAYER, HEAD, TOKEN, PASSAGE, COLOUR = "layer", "head", "token", "passage", "colour"
SELECTED = (LAYER, HEAD, TOKEN, PASSAGE)
SAID = VERDICT, CORRECT_ANSWER = "verdict", "correct_answer"  # of an answer by the user; in copied links alone
OF_ANSWER = (LOOP, *SELECTED, WRONG, *SAID)  # what has a meaning for one answer alone

LONGEST = 4000  # characters; what every browser and most places to paste a link into take
DEFAULT_TOKENS = 128
TEMPERATURES = (0.05, 2.0)
LEAST_TOP_P = 0.05
LARGEST_SEED = 999_999_999


def read_context(text: str) -> tuple[Message, ...] | None:
    """The messages before a prompt, from lists of role and content in JSON; None where they cannot be used."""
    try:
        given = json.loads(text)
        context = [unpacked(message) for message in given]
        messages_of([*context, Message(role="user", content="?")])
    except (InvalidInput, TypeError, ValueError, RecursionError):
        return None
    return tuple(context) if isinstance(given, list) else None


def read_options(text: str) -> TemplateOptions | None:
    """Options of a chat template, from JSON; None where they cannot be used."""
    try:
        return checked_options(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _written_context(context: tuple[Message, ...]) -> str:
    return json.dumps([packed(message) for message in context], ensure_ascii=False)


def _limit(text: str) -> int | None:
    limit = number(text)
    return None if limit is None else min(max(limit, 1), MOST_TOKENS)


_END = Codec({"0": False, "1": True}.get, lambda end: str(int(end)))
_DECIMAL = Codec(matching(r"\d(\.\d{1,4})?", float))
_SAMPLING: Mapping[str, Codec] = MappingProxyType({TEMPERATURE: _DECIMAL, TOP_P: _DECIMAL, SEED: Codec(number)})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An answer that a link asks for: to be generated, or, where `answer` is given, to be scored.

    `context` are the messages before the prompt, `template_options` variables of the chat template. `sampling` of None
    is greedy. `end`: whether the end token is appended to `answer`; None: for an instruct model. `engine`: what runs a
    GGUF file; None: as the app chooses.
    """

    prompt: Annotated[str, Codec(str)]
    answer: Name = None
    model: Annotated[str, Codec(lambda text: text or None)] = "atlas"
    kind: Annotated[Kind | None, one_of(get_args(Kind))] = None
    max_new_tokens: Annotated[int, Codec(_limit)] = DEFAULT_TOKENS
    context: Annotated[tuple[Message, ...], Codec(read_context, _written_context)] = ()
    template_options: Annotated[TemplateOptions, Codec(read_options, json.dumps)] = field(default_factory=dict)
    sampling: Sampling | None = None
    end: Annotated[bool | None, _END] = None
    engine: Annotated[EngineName | None, one_of(ENGINES)] = None


def read_asked(query: Mapping[str, str]) -> Asked | None:
    """What a link asks for; None where it brings no prompt."""
    if not query.get(PROMPT):
        return None
    sampling, wrong = read(query, Sampling(), _SAMPLING)
    usual = Asked(prompt="", sampling=None if wrong or not _is_offered(sampling) else sampling)
    return read(query, usual).asked


def written_asked(asked: Asked) -> dict[str, str]:
    """URL parameters from which `read_asked` gives the same."""
    sampling = {} if asked.sampling is None else written(asked.sampling, Sampling(), _SAMPLING)
    found = written(asked, Asked(prompt="")) | sampling
    return {name: text for name, text in found.items() if text is not None}


def _is_offered(sampling: Sampling) -> bool:
    """Whether the fields of the form can hold it."""
    lowest, highest = TEMPERATURES
    usual = sampling.top_k == Sampling().top_k and sampling.top_p >= LEAST_TOP_P
    known = sampling.seed is not None and sampling.seed <= LARGEST_SEED
    digits = all(round(value, 4) == value for value in (sampling.temperature, sampling.top_p))
    return usual and known and digits and lowest <= sampling.temperature <= highest


def asking(trace: Trace) -> Asked:
    """What leads to this answer again: the prompt alone where the model would give it anyway, else the answer too."""
    kind = None if trace.model == "atlas" else trace.kind
    length = len(trace.answer_ids)
    ended = trace.stop_reason == "eos"
    is_usual_stop = trace.kind == "base" and trace.answer.endswith("\n")  # another one is in no link
    sampled = (
        trace.sampling is not None and _is_offered(trace.sampling) and trace.stop_reason not in ("cancelled", "alarm")
    )
    went_on = trace.kind == "base" and "\n" in trace.answer.rstrip("\n")  # past the usual stop
    if (
        (trace.stop_reason == "stop" and not is_usual_stop)
        or went_on
        or not ((trace.is_greedy or sampled) and length <= MOST_TOKENS)
    ):
        end = None if ended == (trace.kind == "instruct") else ended
        return _asked(trace, kind=kind, answer=trace.answer, end=end)
    limit = length if trace.stop_reason == "length" else max(length, DEFAULT_TOKENS)
    return _asked(trace, kind=kind, max_new_tokens=limit, sampling=trace.sampling if sampled else None)


def link(base: str, query: Mapping[str, str], trace: Trace) -> str | None:
    """A link that opens on this answer; None where it would be longer than LONGEST, or lead to another prompt.

    A recorded answer, and one of a run, is named. Any other is named as long as it is in the memory of this app, and
    its prompt, which stands in a URL for this purpose alone, leads to it again afterwards or in another app. A prompt
    that makes the link too long, or that the form cannot hold, is left out where the answer is named.
    """
    named = {name: value for name, value in query.items() if name not in ASKS}
    if trace.wrong:  # they may have come with a file, and not stand in the URL yet
        named[WRONG] = written_wrong(trace.wrong)
    if EXAMPLE in query or RUN in query:
        named.pop(KEPT, None)
        return _short_enough(base, named)
    is_text = not trace.messages or trace.messages[-1] == Message(role="user", content=trace.prompt)  # as in the form
    found = _short_enough(base, named | written_asked(asking(trace))) if is_text else None
    return found or (_short_enough(base, named) if KEPT in named else None)


def _short_enough(base: str, query: Mapping[str, str]) -> str | None:
    found = f"{base}?{urlencode(query, errors='replace')}"
    return found if len(found) <= LONGEST else None


def _asked(trace: Trace, **how: Any) -> Asked:  # noqa: ANN401 - fields of Asked
    context, options = trace.messages[:-1], dict(trace.template_options)
    how |= {"model": trace.model, "engine": trace.engine_name}
    return Asked(prompt=trace.prompt, context=context, template_options=options, **how)


def comparing(name: str, wrong: Iterable[int]) -> dict[str, str]:
    """URL parameters with which the page Compare opens on this answer, its marks along with it."""
    marks = written_wrong(wrong)
    return {"a": name} | ({} if marks == _NONE else {"a_wrong": marks})


_NONE = "none"
_read_marks = matching(r"\d{1,5}(\.\d{1,5}){0,999}", _numbers)


def read_wrong(text: str, num_tokens: int) -> tuple[tuple[int, ...], bool]:
    """Tokens marked as incorrect, and whether the whole text could be used."""
    asked = () if text == _NONE else _read_marks(text)
    inside = {token for token in asked or () if token < num_tokens}
    return tuple(sorted(inside)), asked is not None and inside == set(asked)


def written_wrong(tokens: Iterable[int]) -> str:
    """Tokens marked as incorrect, for `read_wrong`."""
    return text_of(tuple(sorted(tokens))) or _NONE


SETTINGS = tuple(declared(Settings))
SIGNAL, ALPHA, PART, ALIGNMENT, LAYERS, HEADS = "signal", "alpha", "part", "alignment", "layers", "heads"


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


def settings_in(query: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """The parameters of settings, as written in a URL after a prefix."""
    return {name: query[prefix + name] for name in SETTINGS if prefix + name in query}


def read_settings(query: Mapping[str, str], of: type[Settings] = Settings) -> Read[Settings]:
    """Settings from URL parameters; those that are missing follow the paper."""
    return read(query, of(), {name: Codec(one.read, one.write) for name, one in declared(of).items()})


def written_settings(settings: Settings, kind: Kind) -> dict[str, str | None]:
    """URL parameters for settings; None for what is the paper's for this kind of model anyway."""
    others = changed(settings, kind)
    return {name: one.write(others[name]) if name in others else None for name, one in declared(type(settings)).items()}


def fitted(settings: Settings, captured: Captured) -> Read[Settings]:
    """The settings as far as what was captured can follow: unavailable layers and heads are replaced by the paper's."""
    wrong = []
    if isinstance(settings.layers, tuple):
        inside = tuple(layer for layer in settings.layers if layer in captured.layers)
        if inside != settings.layers:
            wrong.append(LAYERS)
            settings = replace(settings, layers=inside or "middle")
    if isinstance(settings.heads, tuple) and not _has_heads(dict(settings.heads), settings, captured):
        wrong.append(HEADS)
        settings = replace(settings, heads="max")
    return Read(settings, tuple(wrong))


def _has_heads(named: Mapping[int, int], settings: Settings, captured: Captured) -> bool:
    try:
        layers = window(settings, captured=captured.layers, num_layers=captured.num_layers)
    except InvalidInput:  # no layer with attention in the middle, say
        return False
    return set(layers) <= set(named) and max(named.values()) < captured.num_heads


_Given = ParamSpec("_Given")

_WRITES = "_told"  # by name: what stood there before, and what was written


def write(values: Mapping[str, str | None]) -> None:
    """Write parameters into the URL, or, where the value is None, take them out of it, so that this lasts."""
    writes = {name: (st.query_params.get(name), value) for name, value in values.items()}
    st.session_state[_WRITES] = st.session_state.get(_WRITES, {}) | writes
    update_url(values)


def forget() -> None:
    """Forget all held values: the user navigated."""
    st.session_state.pop(_WRITES, None)


def hold(names: Iterable[str]) -> None:
    """Write parameters again that a script run undid because it began before the browser had them; call this first."""
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:  # a Back navigation is intended, and never too early
        forget()
    writes = st.session_state.get(_WRITES, {})
    undone = {}
    for name in names:
        before, after = writes.get(name, (None, None))
        if before != after and st.query_params.get(name) == before:
            undone[name] = after
        else:
            writes.pop(name, None)  # the browser has the new value, or the user navigated
    update_url(undone)


def by_the_user(change: Callable[_Given, None]) -> Callable[_Given, None]:
    """The callback of a widget whose value the page sets: it is called for what the user does, and for nothing else.

    A fragment that follows a job reruns again and again, each time with the values that widgets had in the browser. If
    the page has set a widget meanwhile, Streamlit takes the old value for a change. A change by the user reruns the
    whole page.
    """

    @wraps(change)
    def called(*args: _Given.args, **options: _Given.kwargs) -> None:
        context = get_script_run_ctx()
        if context is None or not context.fragment_ids_this_run:
            change(*args, **options)

    return called


def update_url(values: Mapping[str, str | None], *, again: bool = False) -> None:
    """Write parameters into the URL, and take out those whose value is None, in one step: so Back is one step too.

    `again`: also where the URL of this script run says so already. The browser may have been sent another one after it
    asked for this run.
    """
    now = st.query_params.to_dict()
    changed = {name: value for name, value in {**now, **values}.items() if value is not None}
    if again or changed != now:
        st.query_params.from_dict(changed)


def drop(*names: str) -> None:
    """Take parameters out of the URL."""
    update_url(dict.fromkeys(names))


def restore_url(page: str) -> None:
    """A switch of pages empties the URL: bring back what it said when this page was left; Back means what it says."""
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        return
    if not st.query_params and (last := st.session_state.get(_last(page))):
        st.query_params.from_dict(last)


def remember(page: str) -> None:
    """Keep the URL for `restore_url`."""
    st.session_state[_last(page)] = st.query_params.to_dict()


def _last(page: str) -> str:
    return f"_{page}_query"
