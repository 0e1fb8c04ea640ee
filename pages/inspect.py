"""Inspect: where in one answer did the model stop knowing, and which head shows it?"""

import streamlit as st

from pages.ui import inputs, state
from pages.ui.errors import show_error
from pages.ui.scoring import settings_form
from pages.ui.shell import require_shell
from pages.ui.stage import empty_stage, follow
from pages.ui.views import show_answer

require_shell("inspect")
job = st.session_state.get(state.JOB)
at_work = job if job is not None and job.live else None  # asked once: a job ending now is for the next run
trace = state.current_trace()

with st.sidebar:
    request = inputs.request_form()
    count = st.empty()
    count.caption("\N{NO-BREAK SPACE}")  # holds the line: what follows must not jump
    inputs.run_buttons(request, live=at_work is not None)
    settings = settings_form(trace.kind if trace else "base")

if at_work:
    follow(at_work)
else:
    error = job.error if job is not None and job.request == request else None  # not one that was mended since
    if error:
        show_error(error)
    if trace is None:
        empty_stage()
    else:
        show_answer(trace, settings, note=st.session_state.get(state.NOTE, ""))
    with count:  # last, since it may load the model
        inputs.token_count(request, trace, told=error)
