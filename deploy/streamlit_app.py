"""The hosted app for platforms that run `streamlit run deploy/streamlit_app.py` themselves.

`rauq host` is the same app with a server of its own, which also bounds the size of a message.
"""

import os

import streamlit as st
from rauq.web.pages.ui.host.server import APP, NAMES, clearing, page_failed, prepare, set_options

app = st.App(APP, middleware=prepare(os.environ[NAMES]), lifespan=clearing, on_script_error=page_failed)
set_options()
