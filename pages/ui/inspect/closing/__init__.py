"""Which drawer of an answer is open; it closes by Escape, by a click outside, and where anything else is shown."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from pages.ui.shared.components import component
from pages.ui.shared.sent import events

OPEN = "drawer"  # key of the name of the drawer that is open
KEY = "closing"
_OF = "_drawer_of"  # key of the name of the answer that it was opened for
_HTML = """<span class="closing"></span>
"""
_mount = component("closing", Path(__file__).with_name("closing.js"), html=_HTML)


def drawer_of(answer: str) -> str | None:
    """Return the name of the drawer that is open.

    One that was opened for another answer is closed, as is one that was left open: Streamlit keeps nothing of a
    component that the run before did not draw, as on another page or while an answer is generated.
    """
    if KEY not in st.session_state or st.session_state.get(_OF) != answer:
        st.session_state.update({_OF: answer, OPEN: None})
    name: str | None = st.session_state.get(OPEN)
    return name


def toggle(name: str) -> None:
    """Open a drawer, or close it."""
    st.session_state[OPEN] = None if st.session_state.get(OPEN) == name else name


def close_outside(names: Sequence[str], is_open: str | None) -> None:
    """Draw what listens in the browser to the keys and clicks that close a drawer; nothing of it is seen."""
    data = {"names": names, "open": is_open or ""}
    _mount(key=KEY, data=data, on_closed_change=_closed)


def _closed() -> None:
    """Close a drawer, unless another one was opened meanwhile."""
    name = events.event(KEY, "closed", str)
    if name is not None and st.session_state.get(OPEN) == name:
        st.session_state[OPEN] = None
