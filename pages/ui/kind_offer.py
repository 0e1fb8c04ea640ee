"""Which kind a model was taken for where name and chat template alone decided, and the other kind in one click."""

import streamlit as st

from pages.ui import hosting, inputs, state
from pages.ui.model_form import chosen_model
from rauq.presets import find_preset
from rauq.trace import Kind, Trace

_OTHER: dict[Kind, Kind] = {"base": "instruct", "instruct": "base"}
_NAMES: dict[Kind, str] = {"base": "base model", "instruct": "chat model"}


def offer_other_kind(trace: Trace) -> None:
    """A line and a button, where the form names the model of this answer and its kind is not on the paper's list."""
    listed = trace.model == state.ATLAS or find_preset(trace.model) is not None
    if listed or hosting.is_hosted() or chosen_model().name != trace.model:
        return
    other = _OTHER[trace.kind]
    reason = "" if st.session_state.get(state.KIND) == trace.kind else ", judging by its name and chat template"
    if trace.kind == "base" and trace.chat_applied:
        reason += "; its chat template was applied all the same, since messages need one"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Treated as a {_NAMES[trace.kind]}{reason}.", width="content")
        st.button(f"Treat as {_NAMES[other]}", key="other_kind", type="tertiary", on_click=_switch, args=(other,))


def _switch(kind: Kind) -> None:
    """Treat the model as the other kind, and answer again."""
    st.session_state[state.KIND] = kind
    inputs.run()
