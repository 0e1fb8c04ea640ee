"""What can be done to a run: begin or go on, stop, delete. What went wrong is told on the page."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from analysis.runs.library import delete_run
from analysis.runs.process import request_stop, start_job
from pages.ui.host import session_runs
from pages.ui.runs import query
from pages.ui.shared import state
from rauq.errors import RauqError

_PROBLEM, _DELETING = "_runs_problem", "_runs_deleting"


class Problem(NamedTuple):
    """Why something was not done, and the name of the run that it was asked of, if any."""

    error: RauqError
    name: str | None


def problem() -> Problem | None:
    """Why the last thing that was asked for was not done."""
    found: Problem | None = st.session_state.get(_PROBLEM)
    return found


def attempt(action: Callable[[], object], name: str | None = None) -> bool:
    """Do something, of the run of that name if any, and keep what went wrong; whether it was done."""
    try:
        action()
    except RauqError as error:
        st.session_state[_PROBLEM] = Problem(error, name)
        return False
    st.session_state[_PROBLEM] = None
    return True


def begin(name: str, folder: Path) -> None:
    """Start the job of a run, or go on with it."""
    attempt(lambda: _begin(folder), name)


def stop(name: str, folder: Path) -> None:
    """Ask the job of a run to end; what is saved stays."""
    attempt(lambda: request_stop(folder), name)


def ask_to_delete(name: str | None) -> None:
    """Ask whether a run is to be deleted; with None, no longer ask."""
    st.session_state[_DELETING] = name


def is_asked_to_delete(name: str) -> bool:
    """Whether this is the run that the page asks about."""
    return st.session_state.get(_DELETING) == name


def delete(name: str) -> None:
    """Delete a run, after the user was asked."""
    ask_to_delete(None)
    if attempt(lambda: delete_run(name, session_runs.runs_folder()), name):
        query.choose(None)
        state.notify("The run is deleted.")


def _begin(folder: Path) -> None:
    with session_runs.room_for_job(folder):
        start_job(folder)  # returns once the job holds its run, and is counted
