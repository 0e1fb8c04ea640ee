"""What the page Runs shows, as its URL says: a run unfolded (`run`), or the form of a new one (`view=new`).

`goal` says what the new run is made for; it stays until another run is chosen.
"""

from collections.abc import Collection

import streamlit as st

from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import GOAL, RUN, VIEW

PAGE = "runs"
NEW = "new"


def is_new() -> bool:
    """Whether the form of a new run is shown."""
    return st.query_params.get(VIEW) == NEW


def chosen(names: Collection[str]) -> str | None:
    """The expanded run; a missing one is removed from the URL with a notice."""
    name = st.query_params.get(RUN)
    if name is not None and name not in names:
        state.notify("There is no run of that name here.")
        url_state.write({RUN: None})
        return None
    return name


def choose(name: str | None) -> None:
    """Unfold a run in the list, or, with None, fold the one that is."""
    url_state.write({RUN: name, VIEW: None, GOAL: None})


def follow(name: str) -> None:
    """Unfold the run that was just started; its goal stays."""
    url_state.write({RUN: name, VIEW: None})


def open_form() -> None:
    """Show the form of a new run."""
    url_state.write({VIEW: NEW, GOAL: None})
