"""What the page Runs shows, as its URL says.

A run unfolded (`run`), the form of a new one (`view=new`), or the answers of clients (`view=clients`).

`goal` says what the new run is made for, and stays until another run is chosen: `goal=heads` leads from the form over
the job to the view Heads.
"""

from collections.abc import Collection

import streamlit as st

from analysis.datasets.example import DataSet, Example
from analysis.runs.job import WORKING
from analysis.runs.library import Listed
from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import GOAL, HEADS_GOAL, RUN, VIEW

PAGE = "runs"
NEW, CLIENTS = "new", "clients"


def is_new() -> bool:
    """Whether the form of a new run is shown."""
    return st.query_params.get(VIEW) == NEW


def is_from_clients() -> bool:
    """Whether the answers of clients are shown."""
    return st.query_params.get(VIEW) == CLIENTS


def show_clients(shown: bool) -> None:  # noqa: FBT001 - a choice
    """Show the answers of clients, or the runs."""
    url_state.write({VIEW: CLIENTS if shown else None, RUN: None, GOAL: None})


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


HEADS_TITLE = "Find the uncertainty heads of my model"
_NEEDS = (
    "Each row needs a prompt, with a reference that the model's own answer is compared with, or with an answer and "
    "whether it is correct, which the model only reads. Without a file: Facts."
)
_TIME = (
    "Use 100 rows or more, enough for correct and incorrect answers. smollm2 takes about 2 minutes for 300 short "
    "answers on two cores, a larger model longer in proportion. Progress is shown, then the heads."
)
_FEW = 100  # rows
_AWAITED = "_runs_awaited"  # the run whose end opens Heads


def is_heads() -> bool:
    """Return whether the user wants the heads of a model."""
    return st.query_params.get(GOAL) == HEADS_GOAL


def about_heads() -> None:
    """Say what the form needs and how long the job takes."""
    st.caption(f"{_NEEDS}  \n{_TIME}")


def missing_for_heads(data: DataSet) -> str:
    """Return what these rows lack for heads to be compared; empty if nothing."""
    known = sum(map(_is_labelled, data.examples))
    if not known:
        return "No row has a reference or a label, so correct and incorrect answers cannot be told apart."
    if known < _FEW:
        return f"{known:,} rows have a reference or a label. With fewer than {_FEW}, chance hides most heads."
    return ""


def _is_labelled(example: Example) -> bool:
    return bool(example.references) or example.quality is not None


def await_heads(name: str) -> None:
    """Remember the run that was started with this goal."""
    if is_heads():
        st.session_state[_AWAITED] = name


def way_to_heads(run: Listed) -> None:
    """Draw the way to the heads of the chosen run; they open once its job ends while the user is here."""
    if not is_heads() or run.status is None:
        return
    if run.status.state in WORKING:
        await_heads(run.name)
        st.caption("Heads opens once the run is finished.")
        return
    awaited = st.session_state.pop(_AWAITED, None) == run.name
    if run.status.state != "finished" or not run.status.saved:
        return
    if awaited or st.button("Open Heads", key="open_heads", type="primary", icon=":material/grid_on:"):
        st.switch_page("pages/answer_sets.py", query_params={RUN: run.name})
