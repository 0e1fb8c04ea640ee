"""One of the paper's data sets: from the hub, or from a copy; its prompts are worded for the kind of model."""

from typing import NamedTuple

import streamlit as st

from analysis.datasets.example import DataSet
from analysis.datasets.names import load
from analysis.datasets.paper.twelve import PAPER_SETS
from pages.ui import cache
from pages.ui.hosting import ModelChoice
from pages.ui.model_form import chosen_model
from rauq.errors import RauqError

NAME, COPY = "new_run_paper", "new_run_copy"
_LOADED = "_new_run_loaded"
_COPY_HELP = "A folder that the `datasets` library saved, or one with the set's files. Without it, the hub is asked."
_WORDING = "Its prompts are worded for the model of step 3. Nothing is read before you ask for it."


class _Asked(NamedTuple):
    name: str
    model: ModelChoice


def data_set() -> DataSet | None:
    """Draw the choice; the data set once it is loaded.

    Raises:
        RauqError: it could not be loaded.
    """
    st.session_state.setdefault(NAME, next(iter(PAPER_SETS)))
    name = st.selectbox(
        "Data set of the paper",
        tuple(PAPER_SETS),
        key=NAME,
        format_func=lambda name: PAPER_SETS[name].title,
        label_visibility="collapsed",
        persist_state="session",
    )
    copy = st.text_input(
        "Folder of a copy", key=COPY, placeholder="From the hub", help=_COPY_HELP, persist_state="session"
    )
    asked = _Asked(f"{name}={copy.strip()}" if copy.strip() else name, chosen_model())
    if st.button("Load it", key="load_paper_set"):
        with st.spinner("Reading the data set"):
            st.session_state[_LOADED] = asked, _load(asked)
    kept_for, loaded = st.session_state.get(_LOADED, (None, None))
    if kept_for != asked:
        st.caption(_WORDING)
        return None
    if isinstance(loaded, RauqError):
        raise loaded
    return loaded


def _load(asked: _Asked) -> DataSet | RauqError:
    try:
        return load(asked.name, kind=asked.model.kind or cache.examine(asked.model).kind)
    except RauqError as error:
        return error
