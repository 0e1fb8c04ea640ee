"""The form of a new run, in four steps: data, what was read of it, model, start."""

import streamlit as st

from analysis.datasets.example import DataSet
from pages.ui import cache
from pages.ui.errors import show_error
from pages.ui.runs import place
from pages.ui.runs.data_fields import data_fields
from pages.ui.runs.model_fields import model_step
from pages.ui.runs.preview import preview
from pages.ui.runs.starting import room, start_step
from rauq.errors import RauqError
from rauq.labels import lines

_NOTHING = "The rows that are accepted will be here, and every row that is not, with its reason."
_NO_START = "Once there are examples, the run can be started."


def new_run() -> None:
    """Draw the form; nothing is loaded or answered before Start."""
    with st.container(key="runs_head", horizontal=True, vertical_alignment="center"):
        st.button("All runs", key="all_runs", icon=":material/arrow_back:", on_click=place.choose, args=(None,))
        st.title("New run", anchor=False)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.header("1 Data", anchor=False)
        data = _data()
    with right:
        st.header("2 Rows", anchor=False)
        if data is None:
            st.caption(_NOTHING)
        else:
            preview(data)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.header("3 Model", anchor=False)
        model_step(data)
    with right:
        st.header("4 Start", anchor=False)
        if data is None:
            st.caption(_NO_START)
            return
        needed = st.empty()
        start_step(data)
    with needed:  # last, since it may import torch
        _room(data)


def _data() -> DataSet | None:
    try:
        return data_fields()
    except RauqError as error:
        show_error(error)
        return None


def _room(data: DataSet) -> None:
    if not data.examples:
        st.caption(_NO_START)
    elif cache.busy():
        st.caption("Another model is being loaded; how much room this run takes is told after it.")
    else:
        try:
            st.caption(room(data))
        except RauqError as error:
            st.text(lines(str(error)))
