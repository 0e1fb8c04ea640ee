"""What every page calls first."""

from pathlib import Path

import streamlit as st

SHELL, GOTO = "_shell", "goto"


def configure() -> None:
    """Title, icon, widths and style of every page."""
    st.set_page_config(page_title="RAUQ", page_icon="🔬", layout="wide", initial_sidebar_state=380)
    st.html(Path(__file__).with_name("page.css"))


def require_shell(url_path: str) -> None:
    """Run app.py first: on a cold server Streamlit opens a deep link to a page without it."""
    if not st.session_state.get(SHELL):
        configure()  # the width of the sidebar is the one that the browser hears of first
        st.switch_page("app.py", query_params={**st.query_params.to_dict(), GOTO: url_path})
