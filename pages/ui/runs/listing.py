"""The list of runs: one line each, with how far it is; the chosen one is unfolded."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import streamlit as st

from analysis.runs.library import Listed
from analysis.runs.status import WORKING
from pages.ui.links import RUN
from pages.ui.runs import actions, place, words
from pages.ui.runs.details import details
from pages.ui.runs.progress import progress

Colour = Literal["blue", "gray", "orange"]

_BROKEN = "broken"
_COLOURS: Mapping[str, Colour] = MappingProxyType(
    {"loading": "blue", "answering": "blue", "interrupted": "orange", "failed": "orange", _BROKEN: "orange"}
)
_STATES: Mapping[str, str] = MappingProxyType({"new": "not begun", "loading": "loading its model"})


def run_list(runs: Sequence[Listed], chosen: str | None) -> None:
    """Draw every run."""
    for run in runs:
        with st.container(border=True, key=f"run-{run.name}", gap="small"):
            _line(run, unfolded=run.name == chosen)
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
        if run.status is not None and run.status.saved:
            st.page_link(
                "pages/answer_sets.py", label="Answer sets", icon=":material/bar_chart:", query_params={RUN: run.name}
            )
        if run.status is not None and run.status.state in WORKING:
            st.button("Stop", key=f"stop_{run.name}", on_click=actions.stop, args=(run.folder,))
        st.button(
            "Close" if unfolded else "Details",
            key=f"details_{run.name}",
            on_click=place.choose,
            args=(None if unfolded else run.name,),
        )


def _badge(run: Listed) -> None:
    state = run.status.state if run.status else _BROKEN
    st.badge(_STATES.get(state, state), color=_COLOURS.get(state, "gray"))
