"""How far a run is, in a bar and in words; while its job works, they come anew every second."""

from pathlib import Path

import streamlit as st

from analysis.runs.job import WORKING, Status, is_held, read_status
from pages.ui.runs.words import progress_in_words
from rauq.errors import RunError

_OFTEN = 1.0  # seconds


def progress(folder: Path, status: Status) -> None:
    """Show how far a run is; the whole page runs again once its job begins, goes on to another state, or ends."""
    live = _is_live(folder, status)
    st.fragment(_show, run_every=_OFTEN if live else None)(folder, status.state, live=live)


def _show(folder: Path, before: str, *, live: bool) -> None:
    try:
        status = read_status(folder)
    except RunError:  # it was deleted meanwhile
        st.rerun()
    if status.state != before or _is_live(folder, status) != live:
        st.rerun()
    st.progress(min(1.0, status.done / max(status.total, 1)))
    st.text(progress_in_words(status))


def _is_live(folder: Path, status: Status) -> bool:
    """Whether a job works; one that has just begun has the lock before it says a word."""
    return status.state in WORKING or is_held(folder)
