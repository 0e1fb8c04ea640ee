"""The linked views of one scored answer; they share one selection, and one fragment."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import streamlit as st

import rauq
from analysis.figures.confidence import confidence
from analysis.figures.layer_head_map import layer_head_map
from analysis.figures.token_head_map import token_head_map
from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.state import Selection
from pages.ui.token_strip import token_strip
from pages.ui.words import words
from rauq import report
from rauq.score import Score
from rauq.settings import Settings
from rauq.trace import Trace

_MAP = "layer_head_map"
_LAYER, _HEAD = "layer_input", "head_input"
_CHART = {"displaylogo": False}
_COLUMNS = {
    "layer": st.column_config.NumberColumn(width=55),
    "head": st.column_config.NumberColumn(width=55),
    "mean attention": st.column_config.NumberColumn(format="%.3f", width=115),
    "margin": st.column_config.NumberColumn(format="%.3f", width=68),
    "u_l": st.column_config.NumberColumn(format="%.3f", width=68),
}


def show_answer(trace: Trace, settings: Settings, *, note: str = "") -> None:
    """Score a trace, and show it; `note` says what there is to see in a recorded one."""
    try:
        score = rauq.score(trace, settings)
    except rauq.RauqError as error:
        show_error(error)
    else:
        views(trace, score, note)


@st.fragment
def views(trace: Trace, score: Score, note: str) -> None:
    """The answer and its weak spot first, then the heads."""
    selection = state.selection(trace, score)
    if notice := st.session_state.pop(state.NOTICE, None):
        st.toast(notice)
    found = report.collapse(score)
    collapse = found.token if found else None
    token_strip(
        trace,
        score,
        words(trace, score, note),
        collapse=collapse,
        selected=selection.token,
        on_select=state.choose_token,
    )
    if len(trace.pieces) == 1:
        st.caption("RAUQ looks at attention between answer tokens. This answer has one token, so no head was picked.")
        _confidence(trace, score, selection, collapse)
        return
    _selectors(trace, selection)
    left, right = st.columns(2, gap="medium")
    with left:
        _layer_head_map(trace, score, selection)
    with right:
        _confidence(trace, score, selection, collapse)
    left, right = st.columns(2, gap="medium")
    with left:
        _token_head_map(trace, score, selection, collapse)
    with right:
        _picked_heads(score)


def _selectors(trace: Trace, selection: Selection) -> None:
    """What the keyboard can reach: a chart cannot be clicked with it."""
    st.session_state.update({_LAYER: selection.layer, _HEAD: selection.head})
    with st.container(horizontal=True, vertical_alignment="center"):
        _number_input("Layer", trace.layers, _LAYER)
        _number_input("Head", range(trace.num_heads), _HEAD)
        if selection.token is None:
            st.caption("Click a cell to select its head, a token to see its map.")
        else:
            st.caption(f"Token {selection.token} is selected: click it again for the whole answer.")


def _number_input(name: str, allowed: Sequence[int], key: str) -> None:
    step = min((after - before for before, after in pairwise(allowed)), default=1)  # hybrids: every fourth layer, say
    st.markdown(name, width="content")
    st.number_input(
        name, min(allowed), max(allowed), step=step, key=key, on_change=_typed, width=130, label_visibility="collapsed"
    )


def _layer_head_map(trace: Trace, score: Score, selection: Selection) -> None:
    weights = trace.previous_token_attention(score.settings.alignment)
    token = selection.token or None  # the first token has no previous answer token: the mean stands in
    _heading("Previous-token attention" + ("" if token is None else f" at token {token}"))
    figure = layer_head_map(
        _mean(weights) if token is None else weights[:, :, token - 1],
        trace.layers,
        picked=list(zip(score.layers, map(int, score.heads), strict=True)),
        marked=(selection.layer, selection.head),
        dark=_dark(),
    )
    st.plotly_chart(
        figure,
        key=_MAP,
        on_select=lambda: _click(trace),
        selection_mode="points",
        config=_CHART,
        alt="Layer by head map of the attention to the previous token",
    )
    st.caption(
        f"{'Mean over the answer' if token is None else f'The weight at token {token} alone'}. Shaded rows: the layers "
        "that RAUQ looks at. Ringed: the head picked in each. Framed: the selected head. A strong weight says where a "
        "head looks, not why."
    )


def _typed() -> None:
    state.choose_head(st.session_state[_LAYER], st.session_state[_HEAD])


def _click(trace: Trace) -> None:
    points = st.session_state[_MAP]["selection"]["point_indices"]
    if points:  # a second click unselects the point for Plotly; the head stays selected
        row, head = divmod(int(points[0]), trace.num_heads)
        state.choose_head(trace.layers[row], head)


def _confidence(trace: Trace, score: Score, selection: Selection, collapse: int | None) -> None:
    front = _front(score, selection)
    _heading(f"Confidence, layer {front}")
    st.plotly_chart(
        confidence(score, trace.pieces, layer=front, collapse=collapse, selected=selection.token, dark=_dark()),
        key="confidence",
        config=_CHART,
        alt="Confidence along the answer, with signal and attention underneath",
    )
    st.caption(
        "Bold: the layer that decided; thin: the others. Dotted: r, the same recurrence of a model that is sure of "
        "every token. The scale is logarithmic, so the gap from r down to c is the collapse."
    )


def _token_head_map(trace: Trace, score: Score, selection: Selection, collapse: int | None) -> None:
    weights = trace.previous_token_attention(score.settings.alignment)[trace.layers.index(selection.layer)]
    _heading(f"Heads of layer {selection.layer}, token by token")
    st.plotly_chart(
        token_head_map(
            weights, trace.pieces, head=selection.head, collapse=collapse, selected=selection.token, dark=_dark()
        ),
        key="token_head_map",
        config=_CHART,
        alt="Token by head map of the selected layer",
    )
    st.caption("Attention to the previous token at each answer token. The first has no previous answer token.")


def _picked_heads(score: Score) -> None:
    rows = report.picked_heads(score)
    _heading("Picked heads" + ("" if score.layer is None else f": layer {score.layer} decided"))
    st.dataframe(
        {
            "layer": [row.layer for row in rows],
            "head": [row.head for row in rows],
            "mean attention": [row.mean_attention for row in rows],
            "margin": [row.margin for row in rows],
            "u_l": [row.layer_score for row in rows],
        },
        hide_index=True,
        column_config=_COLUMNS,
    )
    st.caption("Margin: how far the mean lies above the next head of the layer. u_l: the layer's uncertainty.")


def _front(score: Score, selection: Selection) -> int:
    """The layer that decided; where none did, the selected one if the window has it, or the window's first."""
    if score.layer is not None:
        return score.layer
    return selection.layer if selection.layer in score.layers else score.layers[0]


def _heading(text: str) -> None:
    st.header(text, anchor=False)  # Streamlit reads Markdown here: only ever our own words and numbers


def _dark() -> bool:
    return st.context.theme.type == "dark"


def _mean(weights: np.ndarray) -> np.ndarray:
    """Mean over the tokens that have a previous answer token; nan where there is none."""
    return weights.mean(axis=2) if weights.shape[2] else np.full(weights.shape[:2], np.nan)
