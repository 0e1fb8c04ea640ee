"""What stands above the list of runs: what a run is, and how one comes here."""

import streamlit as st

from pages.ui import hosting
from pages.ui.runs import importing, starting

_WHAT = (
    "A run is the answers of a model to a data set, each with its attention and its uncertainty, kept on this machine. "
    "Answer sets draws the paper's figures from it, Methods compares how well uncertainties rank it."
)
_HOSTED = (
    "Here your runs are your own: nobody else sees them, and they go with this page. Export what you want to keep."
)


def head() -> None:
    """The title, and the two ways to a run."""
    with st.container(key="runs_head"):
        title, import_it, new = st.columns([8, 2, 2], vertical_alignment="center", gap="small")
        title.title("Runs", anchor=False)
        with import_it:
            importing.field()
        new.button("New run", key="new_run", type="primary", width="stretch", on_click=starting.open_form)
    st.caption(f"{_WHAT} {_HOSTED}" if hosting.is_hosted() else _WHAT)


def empty_stage() -> None:
    """Say how the first run comes about."""
    with st.container(border=True):
        st.header("There is no run yet", anchor=False)
        st.write(
            "New run takes a file of prompts, a set that came with the app, or one of the paper's, and puts it to a "
            "model. It works on while this page is closed. Import takes in a run that was exported elsewhere."
        )
