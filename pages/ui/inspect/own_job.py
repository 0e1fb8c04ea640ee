"""The job of this tab, found again when the tab is loaded again.

Without a host all sessions are one user's, so there any other tab may show the job too.
"""

import streamlit as st

from pages.ui.host import hosting
from pages.ui.host.jobs import Job
from pages.ui.host.store import session_name, store
from pages.ui.inspect import form
from pages.ui.shared import state
from pages.ui.shared.errors import printable
from pages.ui.shared.sent import job_key
from rauq.labels import running, shortened

_ASKED = "_own_job_asked"
_LONGEST = 80  # characters of a prompt


def remember() -> None:
    """Let the browser keep the key of this session's job, or ask it for that of the session before."""
    key = st.session_state.get(state.JOB_KEY, "") if state.JOB in st.session_state else ""
    if key:
        st.session_state[_ASKED] = True
    asked, others = bool(st.session_state.get(_ASKED)), _other() is not None
    job_key.keep_or_ask(key, asked=asked, others=others, on_key=_resume)


def _resume() -> None:
    st.session_state[_ASKED] = True
    key = job_key.kept()
    if not key or state.JOB in st.session_state:
        return
    job = store().keyed.find(key)
    if job is None:
        state.notify("The answer that this tab asked for is no longer in memory. Generate it again.")
    else:
        _follow(key, job)


def _follow(key: str, job: Job) -> None:
    job.sessions.add(session_name())
    st.session_state.update({state.JOB: job, state.JOB_KEY: key})
    form.fill_with(job.request)


def _other() -> tuple[str, Job] | None:
    """Return the latest job of any tab; None on a host, where nobody sees the texts of others."""
    if hosting.is_hosted() or state.JOB in st.session_state:
        return None
    unseen = store().keyed.unseen()
    return next(((key, job) for key, job in unseen if not job.cancel.is_set() and job.error is None), None)


def offer_other() -> None:
    """Offer the latest answer that another tab asked for and that no tab has shown."""
    found = _other() if st.session_state.get(_ASKED) else None
    if found is None:
        return
    key, job = found
    prompt = shortened(running(printable(job.request.prompt)), longest=_LONGEST)
    what = "is being generated for another tab" if job.live else "was generated while no tab showed it"
    with st.container(horizontal=True, vertical_alignment="center", key="other_job"):
        st.text(f"The answer to “{prompt}” {what}.")
        st.button("Show it", key="show_other_job", type="tertiary", on_click=_follow, args=(key, job))
