"""Whose runs these are on a host, for how long they are there, and whether its store of runs can be reached."""

import streamlit as st

from pages.ui.host import hosting
from pages.ui.host.session_runs import stored
from pages.ui.host.stored_runs import StoredRuns

_HERE = "on this machine."
_MINE = "Only you see your runs here, and only while this page is open. Export the runs you want to keep."
_KEPT = "Only this browser sees them. The host keeps them for its cookie, and may delete old ones."
_OFTEN = 0.5  # seconds


def who_sees_them() -> str:
    """Say where runs are, and who sees them."""
    if not hosting.is_hosted():
        return _HERE
    return f"{_HERE} {_MINE if stored() is None else _KEPT}"


def show_state() -> None:
    """Show that kept runs are still being fetched, or what went wrong with them."""
    kept = stored() if hosting.is_hosted() else None
    if kept is not None and not kept.fetched.is_set():
        st.fragment(_fetching, run_every=_OFTEN)(kept)
    elif kept is not None and kept.fault:
        st.warning(kept.fault)


def _fetching(kept: StoredRuns) -> None:
    if kept.fetched.is_set():
        st.rerun()
    st.caption("The runs that this host has kept for you are still being fetched.")
