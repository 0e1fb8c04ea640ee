"""Inspect: at which token of an answer did confidence collapse, and which head shows it?"""

import streamlit as st

from pages.ui.inspect import form as inspect_form
from pages.ui.inspect.layout import PAGE, empty_state, follow, linked_request, show_answer
from pages.ui.inspect.settings import settings_panel
from pages.ui.shared import state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from pages.ui.shared.url_state import ASKS, EXAMPLE, KEPT, OF_RUN
from rauq.errors import RauqError

require_shell(PAGE)
url_state.restore_url(PAGE)
url_state.hold((KEPT, EXAMPLE, *OF_RUN, *ASKS))
job = st.session_state.get(state.JOB)
live_job = job if job is not None and job.live else None  # read once: a job that ends now is left to the next run
shown, damage = None, None
try:
    shown = state.current()
except RauqError as error:
    damage = error
trace = shown.trace if shown else None
request = inspect_form.current_request()
refusal = job.error if job is not None and job.request == request else None  # not an error that has been fixed since

form = st.sidebar.container()  # the answer is drawn before the form: users look for it first
if live_job:
    follow(live_job)
else:
    for problem in filter(None, (refusal, damage)):
        show_error(problem)
    if shown:
        show_answer(shown, state.settings(shown.trace))
    elif asked := state.asked():
        linked_request(asked, request, is_new=job is None)
    else:
        empty_state()

with form:
    inspect_form.request_form()
    count = st.empty()
    with count:
        inspect_form.last_count()
    inspect_form.run_buttons(request, live=live_job is not None)
    settings_panel(trace)
    inspect_form.open_form()
state.show_notices()
url_state.remember(PAGE)
if not live_job:
    with count:  # last, since it may load the model
        inspect_form.token_count(request, trace, shown_error=refusal, may_load=shown is not None)
