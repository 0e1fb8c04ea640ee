"""What every page calls first."""

import streamlit as st

SHELL, GOTO = "_shell", "goto"


def require_shell(url_path: str) -> None:
    """Run app.py first: on a cold server Streamlit opens a deep link to a page without it."""
    if not st.session_state.get(SHELL):
        st.switch_page("app.py", query_params={**st.query_params.to_dict(), GOTO: url_path})
