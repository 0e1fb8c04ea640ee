"""The sidebar's lower part: how an answer is scored."""

from dataclasses import replace
from typing import get_args

import streamlit as st

from pages.ui import state
from rauq.settings import Settings, Signal, is_paper_setting, resolve
from rauq.trace import Alignment, Kind

_SIGNAL_HELP = "How sure the model is of a token: its probability, or log V − entropy, which is not bounded by 1."
_ALPHA_HELP = "c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2)."
_ALIGNMENT_HELP = (
    "Whose attention to the previous token: that of the query which predicts the token, as the reference code has it, "
    "or that of the token's own query."
)


def settings_form(kind: Kind) -> Settings:
    """The settings that re-score an answer at once, without the model."""
    st.header("How it is scored", anchor=False)
    chosen = resolve(state.settings(), kind)
    for name in (state.SIGNAL, state.ALPHA, state.ALIGNMENT):
        st.session_state[_key(name)] = getattr(chosen, name)
    _choice("Signal", get_args(Signal), kind, state.SIGNAL, _SIGNAL_HELP)
    st.slider(
        "alpha: weight of the signal",
        0.0,
        1.0,
        step=0.05,
        key=_key(state.ALPHA),
        help=_ALPHA_HELP,
        on_change=_change,
        args=(kind, state.ALPHA),
    )
    _choice("Alignment", get_args(Alignment), kind, state.ALIGNMENT, _ALIGNMENT_HELP)
    papers = is_paper_setting(chosen, kind)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge("the paper's setting" if papers else "not the paper's setting", color="gray" if papers else "orange")
        st.button("Back to the paper's", key="paper", on_click=_back, args=(kind,), disabled=papers, type="tertiary")
    return chosen


def _choice(label: str, options: tuple[str, ...], kind: Kind, name: str, explanation: str) -> None:
    st.segmented_control(
        label, options, key=_key(name), required=True, help=explanation, on_change=_change, args=(kind, name)
    )


def _change(kind: Kind, name: str) -> None:
    """Take over one changed setting; with another signal, alpha becomes the paper's for it."""
    chosen = replace(resolve(state.settings(), kind), **{name: st.session_state[_key(name)]})
    if name == state.SIGNAL:
        chosen = resolve(replace(chosen, alpha=None), kind)
        st.toast(f"alpha is now {chosen.alpha:g}, the paper's for {chosen.signal}.")
    state.change_settings(chosen, kind)


def _back(kind: Kind) -> None:
    state.change_settings(Settings(), kind)


def _key(name: str) -> str:
    return f"settings_{name}"
