"""The sidebar's lower part: how an answer is scored. All of it re-scores at once, without the model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import streamlit as st

import rauq
from pages.ui.shared import selection, state, url_state
from pages.ui.shared.url_state import (
    ALIGNMENT,
    ALPHA,
    HEADS,
    LAYERS,
    OVER_LAYERS,
    PART,
    SIGNAL,
    TOKEN_AGGREGATION,
    UPDATE,
)
from rauq.errors import InvalidInput, RauqError
from rauq.scoring.report import was_given
from rauq.scoring.settings import (
    HeadRule,
    LayerAggregation,
    LayerRule,
    Settings,
    Signal,
    TokenAggregation,
    Update,
    is_paper_setting,
    resolve,
    window,
)
from rauq.trace.trace import Alignment, Kind, Part, Trace

FIXED, RANGE = "fixed", "range"
_HEADS = (*get_args(HeadRule), FIXED)
_WINDOWS = (*get_args(LayerRule), RANGE)
_RANGE = "settings_range"
_ALIGNMENT = Path(__file__).with_name("alignment.html")

_HELP: Mapping[str, str] = MappingProxyType(
    {
        SIGNAL: "How sure the model is of a token: its probability, or log V − entropy, which is not bounded by 1.",
        ALPHA: "c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2).",
        LAYERS: "The layers that RAUQ looks at. The paper takes the middle third of them.",
        HEADS: "In each layer: the head with the largest mean, the mean of all, of the best five, or heads of yours.",
        UPDATE: "How confidence flows from token to token. All but rauq are ablations of the paper.",
        TOKEN_AGGREGATION: "From the tokens of a layer to its uncertainty.",
        OVER_LAYERS: "From the layers to one uncertainty.",
        PART: "The part is scored as if it were the whole answer. What comes before it counts as prompt.",
    }
)


def settings_form(trace: Trace | None) -> None:
    """What changes the settings of the URL."""
    kind = trace.kind if trace else "base"
    chosen = resolve(state.settings(trace), kind)
    st.header("How it is scored", anchor=False)
    _choice("Signal", get_args(Signal), SIGNAL, chosen, kind)
    _put(ALPHA, chosen.alpha)
    options: dict[str, Any] = {"key": _key(ALPHA), "help": _HELP[ALPHA], "on_change": _change, "args": (kind, ALPHA)}
    st.slider("alpha: weight of the signal", 0.0, 1.0, step=0.05, **options)
    if trace is not None and trace.thinking is not None:
        _choice("Part of the answer", get_args(Part), PART, chosen, kind)
    _choice("Alignment", get_args(Alignment), ALIGNMENT, chosen, kind)
    explanation = st.expander("Which attention is that?", key="alignment", type="compact", on_change="rerun")
    if explanation.open:
        explanation.html(_ALIGNMENT)
    more = st.expander("Layers, heads, update, aggregation", key="more_settings", on_change="rerun")
    if more.open:  # what is folded away is not drawn: the first picture comes sooner
        with more:
            _more(trace, chosen, kind)
    _badge(chosen, kind)


def offer_probability(trace: Trace, settings: Settings) -> None:
    """A line and a button where an answer that was given is scored by a signal that does not depend on its tokens."""
    if settings.signal != "entropy" or not was_given(trace):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        reason = "Entropy does not depend on which token was given; the probability signal does."
        st.caption(reason, width="content")
        options: dict[str, Any] = {"key": "by_probability", "type": "tertiary", "on_click": _change_signal}
        st.button("Score by probability", args=(trace.kind, "probability"), **options)


def _more(trace: Trace | None, chosen: Settings, kind: Kind) -> None:
    _window(trace, chosen, kind)
    _heads(trace, chosen, kind)
    _put(UPDATE, chosen.update)
    options: dict[str, Any] = {"key": _key(UPDATE), "help": _HELP[UPDATE], "args": (kind, UPDATE)}
    st.selectbox("Update", get_args(Update), on_change=_change, **options)
    _choice("Over tokens", get_args(TokenAggregation), TOKEN_AGGREGATION, chosen, kind)
    _choice("Over layers", get_args(LayerAggregation), OVER_LAYERS, chosen, kind)


def _badge(chosen: Settings, kind: Kind) -> None:
    papers = is_paper_setting(chosen, kind)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge("the paper's setting" if papers else "not the paper's setting", color="gray" if papers else "orange")
        st.button("Back to the paper's", key="paper", on_click=_back, args=(kind,), disabled=papers, type="tertiary")


def _window(trace: Trace | None, chosen: Settings, kind: Kind) -> None:
    shown = RANGE if isinstance(chosen.layers, tuple) else chosen.layers
    _put(LAYERS, shown)
    options: dict[str, Any] = {"key": _key(LAYERS), "help": _HELP[LAYERS], "on_change": _change_window}
    options["format_func"] = _spaced
    st.segmented_control("Layers", _WINDOWS, required=True, disabled=trace is None, args=(trace, kind), **options)
    if trace is not None and isinstance(chosen.layers, tuple) and len(trace.layers) > 1:
        st.session_state[_RANGE] = (min(chosen.layers), max(chosen.layers))
        ends = (min(trace.layers), max(trace.layers))
        st.slider("From layer to layer", *ends, key=_RANGE, on_change=_change_range, args=(trace, kind))


def _heads(trace: Trace | None, chosen: Settings, kind: Kind) -> None:
    _put(HEADS, FIXED if isinstance(chosen.heads, tuple) else chosen.heads)
    options: dict[str, Any] = {"key": _key(HEADS), "help": _HELP[HEADS], "on_change": _change_heads}
    st.segmented_control("Heads", _HEADS, required=True, disabled=trace is None, args=(trace, kind), **options)
    if trace is not None and isinstance(chosen.heads, tuple):
        st.caption(", ".join(f"layer {layer}: head {head}" for layer, head in chosen.heads))
        st.button("Put the selected head in", key="put_head", on_click=_put_head, args=(trace, kind))


def _choice(label: str, options: tuple[str, ...], name: str, chosen: Settings, kind: Kind) -> None:
    _put(name, getattr(chosen, name))
    st.segmented_control(
        label,
        options,
        key=_key(name),
        required=True,
        help=_HELP.get(name),
        format_func=_spaced,
        on_change=_change,
        args=(kind, name),
    )


@url_state.by_the_user
def _change(kind: Kind, name: str) -> None:
    """Take over one changed setting."""
    value = st.session_state[_key(name)]
    if name == SIGNAL:
        _set_signal(kind, value)
    else:
        state.change_settings(replace(resolve(state.settings(None), kind), **{name: value}), kind)


@url_state.by_the_user
def _change_signal(kind: Kind, signal: Signal) -> None:
    _set_signal(kind, signal)


def _set_signal(kind: Kind, signal: Signal) -> None:
    """With another signal, alpha becomes the paper's for it."""
    chosen = resolve(replace(state.settings(None), signal=signal, alpha=None), kind)
    state.notify(f"alpha is now {chosen.alpha:g}, the paper's for {chosen.signal}.")
    state.change_settings(chosen, kind)


@url_state.by_the_user
def _change_window(trace: Trace, kind: Kind) -> None:
    layers = st.session_state[_key(LAYERS)]
    _change_layers(state.settings(trace), _middle(trace) if layers == RANGE else layers, kind)


def _middle(trace: Trace) -> tuple[int, ...]:
    """Where a range begins: the paper's window, or all layers of a model that has no attention in the middle."""
    try:
        return window(Settings(), captured=trace.layers, num_layers=trace.num_layers)
    except InvalidInput:
        return trace.layers


@url_state.by_the_user
def _change_range(trace: Trace, kind: Kind) -> None:
    first, last = st.session_state[_RANGE]
    inside = tuple(layer for layer in trace.layers if first <= layer <= last)
    _change_layers(state.settings(trace), inside or (selection.nearest(trace.layers, first),), kind)


def _change_layers(before: Settings, layers: Any, kind: Kind) -> None:  # noqa: ANN401 - as Settings has it
    """Fixed heads name one head a layer, so they go when the layers change."""
    heads = "max" if isinstance(before.heads, tuple) else before.heads
    state.change_settings(replace(before, layers=layers, heads=heads), kind)


@url_state.by_the_user
def _change_heads(trace: Trace, kind: Kind) -> None:
    heads, before = st.session_state[_key(HEADS)], state.settings(trace)
    try:
        chosen = replace(before, heads=_picked(trace, before) if heads == FIXED else heads)
    except RauqError:
        state.notify("Heads can be fixed once there is a score: change what the page says is missing.")
    else:
        state.change_settings(chosen, kind)


def _put_head(trace: Trace, kind: Kind) -> None:
    """The selected head takes the place of the one that stood for its layer."""
    before = state.settings(trace)
    fixed = dict(before.heads) if isinstance(before.heads, tuple) else {}
    selected = selection.chosen(trace)
    layer = min(fixed, default=0) if selected.layer is None else selected.layer
    head = fixed.get(layer) if selected.head is None else selected.head
    if layer not in fixed or head is None:
        state.notify(f"Layer {layer} is not among the layers that RAUQ looks at here.")
        return
    state.change_settings(replace(before, heads=tuple((fixed | {layer: head}).items())), kind)


def _picked(trace: Trace, settings: Settings) -> tuple[tuple[int, int], ...]:
    score = rauq.score(trace, replace(settings, heads="max"))
    return tuple(zip(score.layers, map(int, score.heads), strict=True))


def _back(kind: Kind) -> None:
    state.change_settings(Settings(), kind)


def _spaced(option: str) -> str:
    return option.replace("_", " ")


def _put(name: str, value: object) -> None:
    st.session_state[_key(name)] = value


def _key(name: str) -> str:
    return f"settings_{name}"
