"""The old address of Learn. It is a file, since a server that has not run the app knows pages by their files alone."""

import streamlit as st

from pages.ui.shared.entrypoint import require_shell

require_shell("learn")
st.switch_page("pages/learn.py", query_params=st.query_params.to_dict())
