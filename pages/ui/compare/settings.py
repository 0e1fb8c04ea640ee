"""How the two answers are scored: by the same settings, unless B is given its own. Both live in the URL.

What is not named there follows the paper, for each answer's own kind of model.
"""

from typing import Any, get_args

import streamlit as st

from pages.ui.settings_link import (
    ALIGNMENT,
    ALPHA,
    HEADS,
    LAYERS,
    OVER_LAYERS,
    SIGNAL,
    TOKENS,
    UPDATE,
    fitted,
    read_settings,
)
from rauq.settings import Settings, Signal, is_paper_setting
from rauq.trace import Alignment, Trace

BOTH, ONLY_B = "", "b_"  # what stands before the names in the URL
_NAMES = (SIGNAL, ALPHA, ALIGNMENT, LAYERS, HEADS, UPDATE, TOKENS, OVER_LAYERS)
_OWN = "b_settings"
_PAPERS = "paper's"
_STEPS = tuple(step / 20 for step in range(21))
_ALPHA_HELP = "c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2)."


def settings_of_both(a: Trace, b: Trace) -> tuple[Settings, Settings]:
    """The settings of A and of B; what the URL asks for and an answer cannot follow gives way to the paper's."""
    for prefix in (BOTH, ONLY_B):
        if wrong := read_settings(_query(prefix)).wrong:
            _forget(prefix, wrong)
            st.toast(f"The link's {' and '.join(wrong)} cannot be used: the paper's setting takes its place.")
    of_b = _chosen(ONLY_B if _b_has_its_own() else BOTH)
    return fitted(_chosen(BOTH), a).settings, fitted(of_b, b).settings


def settings_controls(a: Trace, b: Trace) -> None:
    """A button that opens the settings, and says whether they are the paper's."""
    papers = all(is_paper_setting(s, t.kind) for s, t in zip(settings_of_both(a, b), (a, b), strict=True))
    own = _b_has_its_own()
    label = "Scoring: B has its own" if own else "Scoring: the paper's" if papers else "Scoring: changed"
    with st.popover(label, key="scoring", width="stretch"):
        _fields(BOTH)
        st.session_state[_OWN] = own
        st.toggle("Other settings for B", key=_OWN, on_change=_toggle)
        if own:
            _fields(ONLY_B)
        st.button("Back to the paper's", key="paper", on_click=_back, disabled=papers and not own)


def _fields(prefix: str) -> None:
    chosen, whose = _chosen(prefix), " of B" if prefix else ""
    alpha = _PAPERS if chosen.alpha is None else f"{chosen.alpha:g}"
    values: dict[str, Any] = {SIGNAL: chosen.signal or _PAPERS, ALPHA: alpha, ALIGNMENT: chosen.alignment}
    st.session_state.update({_key(prefix, name): value for name, value in values.items()})
    _choice(f"Signal{whose}", (_PAPERS, *get_args(Signal)), prefix, SIGNAL)
    alphas = sorted({*_STEPS, *([] if chosen.alpha is None else [chosen.alpha])})
    st.select_slider(
        f"alpha{whose}: weight of the signal",
        (_PAPERS, *(f"{step:g}" for step in alphas)),
        key=_key(prefix, ALPHA),
        help=_ALPHA_HELP,
        on_change=_change,
        args=(prefix, ALPHA),
    )
    _choice(f"Alignment{whose}", get_args(Alignment), prefix, ALIGNMENT)


def _choice(label: str, options: tuple[str, ...], prefix: str, name: str) -> None:
    st.segmented_control(label, options, key=_key(prefix, name), required=True, on_change=_change, args=(prefix, name))


def _change(prefix: str, name: str) -> None:
    """Write one changed setting to the URL; with another signal, alpha becomes the paper's for it."""
    value = st.session_state[_key(prefix, name)]
    if name == SIGNAL:
        _forget(prefix, (ALPHA,))
    if value in (_PAPERS, Settings().alignment):
        _forget(prefix, (name,))
    else:
        st.query_params[prefix + name] = value


def _toggle() -> None:
    """B's own settings begin as those of both."""
    if st.session_state[_OWN]:
        st.query_params.update({_OWN: "own"} | {ONLY_B + name: value for name, value in _query(BOTH).items()})
    else:
        _forget(ONLY_B, _NAMES)
        st.query_params.pop(_OWN, None)


def _back() -> None:
    for prefix in (BOTH, ONLY_B):
        _forget(prefix, _NAMES)
    st.query_params.pop(_OWN, None)


def _chosen(prefix: str) -> Settings:
    return read_settings(_query(prefix)).settings


def _query(prefix: str) -> dict[str, str]:
    """The settings that the URL names for both, or for B alone."""
    return {name: st.query_params[prefix + name] for name in _NAMES if prefix + name in st.query_params}


def _b_has_its_own() -> bool:
    return _OWN in st.query_params


def _forget(prefix: str, names: tuple[str, ...]) -> None:
    for name in names:
        st.query_params.pop(prefix + name, None)


def _key(prefix: str, name: str) -> str:
    return f"{prefix}{name}_field"
