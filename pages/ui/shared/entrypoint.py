"""What every page calls first."""

from pathlib import Path

import streamlit as st

from pages.ui.host import hosting
from pages.ui.host.store import session, store

SHELL, GOTO = "_shell", "goto"


_STYLE = Path(__file__).with_name("page.css")


def configure() -> None:
    """Set title, icon, width and style of a page."""
    if hosting.is_hosted():
        st.set_option("client.showErrorDetails", "none")  # a traceback would show visitors details of this machine
        _require_guard()
    st.set_page_config(page_title="RAUQ", page_icon="🔬", layout="wide", initial_sidebar_state="collapsed")
    st.html(_STYLE)


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
