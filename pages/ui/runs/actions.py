"""Actions on a run: start or resume, stop, delete. Failures are shown on the page."""

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
    """Why an action failed, and the name of its run, if any."""

    error: RauqError
    name: str | None


def problem() -> Problem | None:
    """Return why the last action failed, if it did."""
    found: Problem | None = st.session_state.get(_PROBLEM)
    return found


def attempt(action: Callable[[], object], name: str | None = None) -> bool:
    """Perform an action, on the run of that name if any; store its error and return whether it succeeded."""
    try:
        action()
    except RauqError as error:
        st.session_state[_PROBLEM] = Problem(error, name)
        return False
    st.session_state[_PROBLEM] = None
    return True


def begin(name: str, folder: Path) -> None:
    """Start or resume the job of a run."""
    attempt(lambda: _begin(folder), name)


def stop(name: str, folder: Path) -> None:
    """Stop the job of a run; saved answers stay."""
    attempt(lambda: request_stop(folder), name)


def ask_to_delete(name: str | None) -> None:
    """Ask the user to confirm a deletion; None withdraws the question."""
    st.session_state[_DELETING] = name


def is_asked_to_delete(name: str) -> bool:
    """Return whether the page asks about this run."""
    return st.session_state.get(_DELETING) == name


def delete(name: str) -> None:
    """Delete a run after the user has confirmed."""
    ask_to_delete(None)
    if attempt(lambda: delete_run(name, session_runs.runs_folder()), name):
        query.choose(None)
        state.notify("Run deleted.")


def _begin(folder: Path) -> None:
    with session_runs.room_for_job(folder):
        start_job(folder)  # returns once the job has locked its run and is counted
