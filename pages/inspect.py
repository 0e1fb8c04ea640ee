"""Inspect: at which token of an answer did confidence collapse, and which head shows it?"""

import streamlit as st

from pages.ui.inspect import form as inspect_form
from pages.ui.inspect.layout import PAGE, asking_stage, empty_stage, follow, show_answer
from pages.ui.inspect.settings import settings_panel
from pages.ui.shared import state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from pages.ui.shared.url_state import ASKS, EXAMPLE, KEPT, OF_RUN
from rauq.errors import RauqError

require_shell(PAGE)
url_state.bring_back(PAGE)
url_state.hold((KEPT, EXAMPLE, *OF_RUN, *ASKS))
job = st.session_state.get(state.JOB)
at_work = job if job is not None and job.live else None  # read once: a job that ends now is left to the next run
shown, damage = None, None
try:
    shown = state.current()
except RauqError as error:
    damage = error
trace = shown.trace if shown else None
request = inspect_form.current_request()
refusal = job.error if job is not None and job.request == request else None  # not an error that has been fixed since

form = st.sidebar.container()  # the answer is drawn before the form: users look for it first
if at_work:
    follow(at_work)
else:
    for problem in filter(None, (refusal, damage)):
        show_error(problem)
    if shown:
        show_answer(shown, state.settings(shown.trace))
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
    settings_panel(trace)
    inspect_form.open_form()
state.tell_notices()
url_state.remember(PAGE)
if not at_work:
    with count:  # last, since it may load the model
        inspect_form.token_count(request, trace, told=refusal, may_load=shown is not None)
