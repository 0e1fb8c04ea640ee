"""Inspect: where in one answer did the model stop knowing, and which head shows it?"""

import streamlit as st

from pages.ui.inspect import form as inspect_form
from pages.ui.inspect.layout import asking_stage, empty_stage, follow, show_answer
from pages.ui.shared import state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from pages.ui.shared.settings_form import settings_form
from rauq.errors import RauqError

require_shell("inspect")
state.bring_back_url()
job = st.session_state.get(state.JOB)
at_work = job if job is not None and job.live else None  # asked once: a job ending now is for the next run
shown, damage = None, None
try:
    shown = state.current()
except RauqError as error:
    damage = error
trace = shown.trace if shown else None
request = inspect_form.current_request()
refusal = job.error if job is not None and job.request == request else None  # not one that was mended since

form = st.sidebar.container()  # the answer is drawn before the form is: it is what one looks for
if at_work:
    follow(at_work)
else:
    for problem in filter(None, (refusal, damage)):
        show_error(problem)
    if shown:
        show_answer(shown, state.settings(trace))
    elif asked := state.asked():
        asking_stage(asked, request, is_new=job is None)
    else:
        empty_stage()

with form:
    inspect_form.request_form()
    count = st.empty()
    with count:
        inspect_form.last_count()
    inspect_form.run_buttons(request, live=at_work is not None)
    settings_form(trace)
    inspect_form.open_form()
state.tell_notices()
state.remember_url()
if not at_work:
    with count:  # last, since it may load the model
        inspect_form.token_count(request, trace, told=refusal, may_load=shown is not None)
