"""What a page about a run shows is its URL: brought back and kept here, written by its controls."""

from collections.abc import Iterable

import streamlit as st

from pages.ui import runs_at_hand, state
from pages.ui.links import RUN
from pages.ui.told import put_in_url


def picker(page: str) -> str:
    """The key of the list of runs on the page of that address."""
    return f"{page}_run"


def bring_back_url(page: str) -> None:
    """A switch of pages empties the URL: bring back what it said when this page was left."""
    if picker(page) not in st.session_state and not st.query_params and (last := st.session_state.get(_last(page))):
        st.query_params.from_dict(last)


def remember_url(page: str) -> None:
    """Keep the URL for `bring_back_url`."""
    st.session_state[_last(page)] = st.query_params.to_dict()


def run_name() -> str | None:
    """The run that the URL names, else the first one; None where there is none at all."""
    names = runs_at_hand.names()
    name = st.query_params.get(RUN)
    if name is not None and name not in names:
        state.notify("There is no run of that name here." + (" The first one is shown." if names else ""))
        put_in_url(RUN, None)
    return name if name in names else next(iter(names), None)


def forget(names: Iterable[str]) -> None:
    """Take parameters out of the URL."""
    for name in names:
        put_in_url(name, None)


def mend(names: Iterable[str]) -> None:
    """Take out what a link asks for and cannot have, and tell the user."""
    if wrong := tuple(dict.fromkeys(names)):
        forget(wrong)
        state.notify(f"The link's {', '.join(wrong)} cannot be used here: the usual is shown.")


def _last(page: str) -> str:
    return f"_{page}_query"
