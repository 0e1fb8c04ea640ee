"""What every page calls first."""

from pathlib import Path
from typing import Literal

import streamlit as st

from pages.ui.host import hosting

SHELL, GOTO = "_shell", "goto"


WITH_SIDEBAR = frozenset({"inspect"})
_STYLE = Path(__file__).with_name("page.css")


def configure(url_path: str) -> None:
    """Title, icon, widths and style of a page; room is left for a sidebar only where there will be one."""
    if hosting.is_hosted():
        st.set_option("client.showErrorDetails", "none")  # a traceback would tell strangers about this machine
    sidebar: Literal["collapsed"] | int = 380 if url_path in WITH_SIDEBAR else "collapsed"
    st.set_page_config(page_title="RAUQ", page_icon="🔬", layout="wide", initial_sidebar_state=sidebar)
    st.html(_STYLE)


def require_shell(url_path: str) -> None:
    """Run app.py first: on a cold server Streamlit opens a deep link to a page without it."""
    if not st.session_state.get(SHELL):
        configure(url_path)  # the width of the sidebar is the one that the browser hears of first
        st.switch_page("app.py", query_params={**st.query_params.to_dict(), GOTO: url_path})
