"""What a run has written into the URL, and the browser may not have heard of yet.

A run that begins before the browser has heard of the last one's URL brings the old one with it, and the old values of
the widgets. It would undo what was written, for example the answer that has just come.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

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
