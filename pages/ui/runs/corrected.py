"""The corrected verdicts of a run on the page Runs: how many there are, and a way to undo all of them."""

import streamlit as st

from analysis.runs.corrections import read_corrections, remove_corrections
from analysis.runs.library import Listed
from pages.ui import state
from pages.ui.runs import actions
from rauq.errors import RunError
from rauq.labels import lines


def corrected_verdicts(run: Listed) -> None:
    """Say how many verdicts were corrected, or that the corrections are damaged; ask before all are undone."""
    try:
        count = len(read_corrections(run.folder))
        said = f"{count:,} verdict{'' if count == 1 else 's'} corrected by hand"
    except RunError as error:
        count, said = None, lines(str(error))
    if count == 0:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(said, width="content")
        with st.popover("Undo all corrections"):
            st.text("The verdicts of the measure count again. This cannot be undone.")
            st.button("Undo them", key="undo_corrections", type="primary", on_click=_undo, args=(run,))


def _undo(run: Listed) -> None:
    if actions.attempt(lambda: remove_corrections(run.folder), run.name):
        state.notify("All corrections are undone.")
