"""What every page calls first."""

import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from pages.ui.host import hosting
from pages.ui.host.store import session, store

SHELL, GOTO = "_shell", "goto"
_PAGE = "_page"


def configure() -> None:
    """Set title, icon and width of a page."""
    if hosting.is_hosted():
        for name, value in hosting.STREAMLIT.items():
            st.set_option(name, value)
        _require_guard()
    st.set_page_config(page_title="RAUQ", page_icon="🔬", layout="wide", initial_sidebar_state="collapsed")


def _require_guard() -> None:
    """Show no page to strangers without the guard; record whose session it is, for what it will own."""
    if not store().guarded:
        st.error("The hosted mode needs its guard. Start it with: make host NAMES=rauq.example.org")
        st.stop()
    session()


def require_shell(url_path: str) -> None:
    """Run app.py first: on a fresh server Streamlit opens a deep link to a page without it."""
    if not st.session_state.get(SHELL):
        configure()
        st.switch_page("app.py", query_params={**st.query_params.to_dict(), GOTO: url_path})


def enter(url_path: str) -> None:
    """Note which page is shown; where it is another one, drop what fragments of the page before ask for.

    Streamlit knows these fragments until this run has ended, and serves their requests after it. Then their callbacks
    write to the URL of this page; and the browser takes a request sent from the page before for a return to it, and
    removes all that this page has drawn.
    """
    if st.session_state.get(_PAGE) == url_path:
        return
    st.session_state[_PAGE] = url_path
    if (context := get_script_run_ctx()) is not None and context.script_requests is not None:
        context.fragment_storage.clear()  # from now on their requests are refused
        context.script_requests.request_rerun(RerunData())  # this one replaces those that are waiting,
        context.script_requests.on_scriptrunner_yield()  # and counts as served
