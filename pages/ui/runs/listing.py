"""The list of runs, the newest first: one line each, with how far it is; the chosen one is unfolded."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import streamlit as st

from analysis.runs.job import WORKING, State, Status
from analysis.runs.library import Listed
from analysis.runs.manifest import MANIFEST
from analysis.runs.process import is_stopping
from pages.ui.errors import show_error
from pages.ui.links import RUN
from pages.ui.runs import actions, place, words
from pages.ui.runs.details import details
from pages.ui.runs.progress import progress

Colour = Literal["blue", "gray", "orange"]

_BROKEN, _STOPPING = "broken", "stopping"
_OPEN: tuple[State, ...] = ("new", "stopped", *words.WRONG)
_STOP_HELP = "It ends after the current token. Answers that are not saved yet are asked for again by Resume."
_COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "loading": "blue",
        "answering": "blue",
        "interrupted": "orange",
        "failed": "orange",
        _BROKEN: "orange",
        _STOPPING: "blue",
    }
)
_PAGES = (
    ("pages/answer_sets.py", "Answer sets", ":material/bar_chart:"),
    ("pages/methods.py", "Methods", ":material/leaderboard:"),
)
_STATES: Mapping[str, str] = MappingProxyType({"new": "not begun", "loading": "loading its model"})


def run_list(runs: Sequence[Listed], chosen: str | None) -> None:
    """Draw every run: the one that came with the app, then the newest first, so that one just begun is in sight."""
    for run in sorted(runs, key=lambda run: (not run.read_only, -_since(run))):
        with st.container(border=True, key=f"run-{run.name}", gap="small"):
            _line(run, unfolded=run.name == chosen)
            if (problem := actions.problem()) and problem.name == run.name:  # told where the user looks
                show_error(problem.error)
            if run.status is not None and run.status.state != "finished":
                progress(run.folder, run.status)
            if wrong := words.what_is_wrong(run):
                st.text(wrong)
            if run.name == chosen:
                details(run)


def _line(run: Listed, *, unfolded: bool) -> None:
    name, state, counts, links = st.columns([6, 2, 3, 4], vertical_alignment="center", gap="small")
    with name, st.container(key=f"name-{run.name}", gap=None):
        st.text(run.name)
        st.text(words.facts(run))
    with state:
        _badge(run)
    with counts:
        if run.status is not None and run.status.state == "finished":
            st.text(words.counted(run.status))
    with links, st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        _ways(run, unfolded=unfolded)


def _ways(run: Listed, *, unfolded: bool) -> None:
    if run.status is not None:
        _ways_of(run, run.status)
    st.button(
        "Close" if unfolded else "Details",
        key=f"details_{run.name}",
        on_click=place.choose,
        args=(None if unfolded else run.name,),
    )


def _ways_of(run: Listed, status: Status) -> None:
    if status.saved:
        for page, label, icon in _PAGES:
            st.page_link(page, label=label, icon=icon, query_params={RUN: run.name})
    if status.state in WORKING:
        st.button(
            "Stop",
            key=f"stop_{run.name}",
            on_click=actions.stop,
            args=(run.name, run.folder),
            disabled=is_stopping(run.folder),
            help=_STOP_HELP,
        )
    elif status.state in _OPEN and not run.read_only:
        name = "Start" if status.state == "new" else "Resume"
        st.button(name, key=f"resume_{run.name}", on_click=actions.begin, args=(run.name, run.folder))


def _badge(run: Listed) -> None:
    state = run.status.state if run.status else _BROKEN
    if state in WORKING and is_stopping(run.folder):
        state = _STOPPING
    st.badge(_STATES.get(state, state), color=_COLOURS.get(state, "gray"))


def _since(run: Listed) -> float:
    """Since when it is here, in seconds since 1970; a run that was imported came with its import."""
    try:
        return (run.folder / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0
