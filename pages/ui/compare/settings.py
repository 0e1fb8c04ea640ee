"""How the two answers of a comparison are scored: by the same settings, unless B is given its own."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

import streamlit as st

from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import (
    ALIGNMENT,
    ALPHA,
    HEADS,
    LAYERS,
    OVER_LAYERS,
    PART,
    SETTINGS,
    SIGNAL,
    TOKEN_AGGREGATION,
    UPDATE,
    fitted,
    read_settings,
)
from rauq.scoring.settings import (
    HeadRule,
    LayerAggregation,
    LayerRule,
    Settings,
    Signal,
    TokenAggregation,
    Update,
    is_paper_setting,
)
from rauq.trace.trace import Alignment, Part, Trace

BOTH, ONLY_B = "", "b_"  # what stands before the names in the URL
OWN = "b_settings"


def settings_of_both(a: Trace, b: Trace) -> tuple[Settings, Settings]:
    """The settings of A and of B; what the URL asks for and an answer cannot follow gives way to the paper's."""
    if b_has_its_own():
        return _usable(BOTH, [a]), _usable(ONLY_B, [b])
    both = _usable(BOTH, [a, b])
    return both, both


def b_has_its_own() -> bool:
    """Whether B is scored by settings of its own."""
    return OWN in st.query_params


def written(prefix: str) -> dict[str, str]:
    """The settings that the URL names for both, or for B alone, as they stand there."""
    return {name: st.query_params[prefix + name] for name in SETTINGS if prefix + name in st.query_params}


def write(prefix: str, name: str, value: str | None) -> None:
    """Write one setting to the URL, None for the paper's; with another signal, alpha becomes the paper's for it."""
    forget(prefix, [name, ALPHA] if name == SIGNAL else [name])
    if value is not None:
        st.query_params[prefix + name] = value


def give_b_its_own() -> None:
    """B's own settings begin as those of both."""
    st.query_params.update({OWN: "own"} | {ONLY_B + name: value for name, value in written(BOTH).items()})


def take_from_b_its_own() -> None:
    """Score B as A is scored."""
    forget(ONLY_B, SETTINGS)
    st.query_params.pop(OWN, None)


def back_to_the_papers() -> None:
    """Score both as the paper does."""
    forget(BOTH, SETTINGS)
    take_from_b_its_own()


def forget(prefix: str, names: Sequence[str]) -> None:
    """Take settings out of the URL."""
    for name in names:
        st.query_params.pop(prefix + name, None)


def _usable(prefix: str, traces: Sequence[Trace]) -> Settings:
    """The chosen settings, once the URL names none that one of the answers cannot follow."""
    settings, wrong = read_settings(written(prefix))
    unfit = {name for trace in traces for name in fitted(settings, trace).wrong}
    if names := [name for name in SETTINGS if name in {*wrong, *unfit}]:
        forget(prefix, names)
        state.notify(f"The link's {' and '.join(names)} cannot be used here: the paper's setting takes its place.")
        return _usable(prefix, traces)  # heads may suit the layers that were asked for, and not the paper's
    return settings


POPOVER = "scoring"
_PAPERS = "paper's"
_ALPHAS = tuple(f"{step / 20:g}" for step in range(21))
_MORE = (LAYERS, HEADS, UPDATE, TOKEN_AGGREGATION, OVER_LAYERS)
_LONGEST = 16  # characters of a choice that only a link can make, such as single layers

_LABELS: Mapping[str, str] = MappingProxyType(
    {
        SIGNAL: "Signal",
        ALPHA: "alpha: weight of the signal",
        ALIGNMENT: "Alignment",
        LAYERS: "Layers",
        HEADS: "Heads",
        UPDATE: "Update",
        TOKEN_AGGREGATION: "Over tokens",
        OVER_LAYERS: "Over layers",
        PART: "Part of the answer",
    }
)
_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        SIGNAL: (_PAPERS, *get_args(Signal)),
        ALIGNMENT: get_args(Alignment),
        LAYERS: get_args(LayerRule),
        HEADS: get_args(HeadRule),
        UPDATE: get_args(Update),
        TOKEN_AGGREGATION: get_args(TokenAggregation),
        OVER_LAYERS: get_args(LayerAggregation),
        PART: get_args(Part),
    }
)
_HELP: Mapping[str, str] = MappingProxyType(
    {
        ALPHA: "c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2).",
        LAYERS: "The layers that RAUQ looks at. The paper takes the middle third of them.",
        HEADS: "In each layer: the head with the largest mean, the mean of all, or of the best five.",
        UPDATE: "How confidence flows from token to token. All but rauq are ablations of the paper.",
        TOKEN_AGGREGATION: "From the tokens of a layer to its uncertainty.",
        OVER_LAYERS: "From the layers to one uncertainty.",
        PART: "The part is scored as if it were the whole answer. What comes before it counts as prompt.",
    }
)


def settings_controls(a: Trace, b: Trace) -> None:
    """The button says whether the settings are the paper's; they are drawn once it is open."""
    papers = all(is_paper_setting(s, t.kind) for s, t in zip(settings_of_both(a, b), (a, b), strict=True))
    own = b_has_its_own()
    label = "Scoring: B has its own" if own else "Scoring: the paper's" if papers else "Scoring: changed"
    place = st.popover(label, key=POPOVER, width="stretch", on_change="rerun")
    if place.open:
        with place:
            _all_fields(own=own, thinking=bool(a.thinking or b.thinking))
            st.button("Back to the paper's", key="paper", on_click=back_to_the_papers, disabled=papers and not own)


def _all_fields(*, own: bool, thinking: bool) -> None:
    st.session_state[OWN] = own
    st.toggle("Other settings for B", key=OWN, on_change=_toggle)
    if not own:
        _fields(BOTH, thinking=thinking)
        return
    for tab, prefix in zip(st.tabs(["A", "B"]), (BOTH, ONLY_B), strict=True):
        with tab:
            _fields(prefix, thinking=thinking)


def _fields(prefix: str, *, thinking: bool) -> None:
    for name in (SIGNAL, ALPHA, *([PART] if thinking else []), ALIGNMENT):
        _field(prefix, name)
    more = st.expander("Layers, heads, update, aggregation", key=f"{prefix}more_settings", on_change="rerun")
    if more.open:
        with more:
            for name in _MORE:
                _field(prefix, name)


def _field(prefix: str, name: str) -> None:
    """One setting as the URL has it; what only a link can choose stands among the options while it is chosen."""
    value = _value(prefix, name)
    key = f"{prefix}{name}_field"
    st.session_state[key] = value
    label = f"{_LABELS[name]}{' of B' if prefix else ''}"
    options: dict[str, Any] = {"key": key, "help": _HELP.get(name), "on_change": _change, "args": (prefix, name, key)}
    if name == ALPHA:
        st.select_slider(label, (_PAPERS, *sorted({*_ALPHAS, value} - {_PAPERS}, key=float)), **options)
        return
    choices = tuple(dict.fromkeys((*_OPTIONS[name], value)))
    if name == UPDATE:
        st.selectbox(label, choices, format_func=_in_words, **options)
    else:
        st.segmented_control(label, choices, required=True, format_func=_in_words, **options)


@url_state.by_the_user
def _change(prefix: str, name: str, key: str) -> None:
    value = st.session_state[key]
    write(prefix, name, None if value == _usual(name) else value)


@url_state.by_the_user
def _toggle() -> None:
    if st.session_state[OWN]:
        give_b_its_own()
    else:
        take_from_b_its_own()


def _value(prefix: str, name: str) -> str:
    text = written(prefix).get(name, _usual(name))
    return f"{float(text):g}" if name == ALPHA and text != _PAPERS else text


def _usual(name: str) -> str:
    return str(getattr(Settings(), name) or _PAPERS)


def _in_words(choice: str) -> str:
    text = choice.replace("_", " ")
    return text if len(text) <= _LONGEST or choice in _OPTIONS[UPDATE] else f"{text[:_LONGEST]}…"
