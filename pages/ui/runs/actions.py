"""What can be done to a run: begin or go on, stop, delete. What went wrong is told on the page."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from analysis.runs.library import delete_run, runs_folder
from analysis.runs.process import request_stop, start_job
from pages.ui import state
from pages.ui.runs import place
from rauq.errors import RauqError

_PROBLEM, _DELETING = "_runs_problem", "_runs_deleting"


def problem() -> RauqError | None:
    """Why the last thing that was asked for was not done."""
    found: RauqError | None = st.session_state.get(_PROBLEM)
    return found


def attempt(action: Callable[[], object]) -> bool:
    """Do something, and keep what went wrong; whether it was done."""
    try:
        action()
    except RauqError as error:
        st.session_state[_PROBLEM] = error
        return False
    st.session_state[_PROBLEM] = None
    return True


def begin(folder: Path) -> None:
    """Start the job of a run, or go on with it."""
    attempt(lambda: start_job(folder))


def stop(folder: Path) -> None:
    """Ask the job of a run to end; what is saved stays."""
    attempt(lambda: request_stop(folder))


def ask_to_delete(name: str | None) -> None:
    """Ask whether a run is to be deleted; with None, no longer ask."""
    st.session_state[_DELETING] = name


def is_asked_to_delete(name: str) -> bool:
    """Whether this is the run that the page asks about."""
    return st.session_state.get(_DELETING) == name


def delete(name: str) -> None:
    """Delete a run, after the user was asked."""
    ask_to_delete(None)
    if attempt(lambda: delete_run(name, runs_folder())):
        place.choose(None)
        state.notify("The run is deleted.")
