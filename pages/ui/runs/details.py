"""One run unfolded: what was asked, what its job said, and what can be done with it."""

from functools import partial
from pathlib import Path

import streamlit as st

from analysis.runs.archive import export_zip
from analysis.runs.job import WORKING
from analysis.runs.library import Listed
from analysis.runs.process import last_lines
from pages.ui import cache, hosting
from pages.ui.errors import printable
from pages.ui.runs import actions, words
from pages.ui.runs.corrected import corrected_verdicts
from rauq.errors import RunError
from rauq.labels import lines, size

_LAST_LINES = 12


def details(run: Listed) -> None:
    """Draw what is known of a run, and the buttons."""
    if run.manifest is not None:
        st.text(words.asked(run.manifest))
    corrected_verdicts(run)
    if run.status is not None and run.status.state in words.WRONG:
        _log(run)
    if run.status is not None and run.status.failed and run.status.state not in WORKING:
        _failures(run)
    if actions.is_asked_to_delete(run.name):
        _question(run)
    else:
        _buttons(run)


def _log(run: Listed) -> None:
    """What a job's process said, which would tell strangers about this machine."""
    if not hosting.is_hosted() and (log := last_lines(run.folder, _LAST_LINES)):
        with st.expander("The last lines of its log"):
            st.code(lines(log), language=None, wrap_lines=True)


def _failures(run: Listed) -> None:
    try:
        failures = cache.run(run.folder).failures
    except RunError as error:
        st.text(lines(str(error)))
        return
    st.caption("Examples without an answer, by their number in the data set, and why")
    st.dataframe(
        failures[["number", "prompt", "error"]].map(lambda cell: printable(cell) if isinstance(cell, str) else cell),
        key="failures",
        hide_index=True,
        column_config={"number": st.column_config.NumberColumn(width="small")},
        alt="The examples that failed, and why",
    )


def _buttons(run: Listed) -> None:
    if run.read_only:
        st.caption("It came with the app, and stays.")
    state = run.status.state if run.status else None
    with st.container(horizontal=True):
        if run.manifest is not None:
            st.download_button(
                "Export as zip",
                partial(_zipped, run.folder),
                f"{run.name}.zip",
                "application/zip",
                key="export",
                on_click="ignore",
            )
        if not run.read_only:
            st.button(
                "Delete",
                key="delete",
                on_click=actions.ask_to_delete,
                args=(run.name,),
                disabled=state in WORKING,
            )


def _zipped(folder: Path) -> bytes:
    with export_zip(folder) as archive:
        return archive.read()


def _question(run: Listed) -> None:
    st.text(f"Delete {run.name} and its {size(run.num_bytes)} for good?")
    with st.container(horizontal=True):
        st.button("Delete it", key="delete_for_good", type="primary", on_click=actions.delete, args=(run.name,))
        st.button("Keep it", key="keep", on_click=actions.ask_to_delete, args=(None,))
