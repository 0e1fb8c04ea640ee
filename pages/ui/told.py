"""What a run has written into the URL, and the browser may not have heard of yet.

A run that begins before the browser has heard of the last one's URL brings the old one with it. It would undo what was
written, for example the answer that has just come.
"""

from collections.abc import Iterable, Mapping

import streamlit as st

_TOLD = "_told"  # by name: what stood there before, and what was written


def write(values: Mapping[str, str | None]) -> None:
    """Write parameters into the URL, or, where the value is None, take them out of it, so that this lasts."""
    told = {name: (st.query_params.get(name), value) for name, value in values.items()}
    st.session_state[_TOLD] = st.session_state.get(_TOLD, {}) | told
    for name, value in values.items():
        _put(name, value)


def forget() -> None:
    """Hold nothing any longer: the user went elsewhere."""
    st.session_state.pop(_TOLD, None)


def hold(names: Iterable[str]) -> None:
    """Write once more, under these names, what a run that began too early has brought back; call it first.

    A run that a run began knows the new URL before the browser does, and what the run before it sent to the browser
    may be lost with it: so it is sent again, once.
    """
    told = st.session_state.get(_TOLD, {})
    for name in names:
        before, after = told.pop(name, (None, None))
        now = st.query_params.get(name)
        if before != after and now in (before, after):  # else the user went elsewhere
            _put(name, after)
        if before != after and now == before:
            told[name] = (before, after)


def _put(name: str, value: str | None) -> None:
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value
