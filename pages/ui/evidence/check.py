"""The check of a model's captured attention, made on request while the page is open."""

import time
from typing import TYPE_CHECKING

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.figures import check_differences
from pages.ui.evidence.records import headline
from pages.ui.host import hosting, jobs, models
from pages.ui.host.jobs import Job
from pages.ui.host.looking import stage
from pages.ui.host.request import Request
from pages.ui.shared import state
from pages.ui.shared.errors import printable, show_error
from pages.ui.shared.figure_export import format_picker, is_dark
from pages.ui.shared.model_form import chosen_model, model_form
from pages.ui.shared.run_views.page import chart
from rauq.labels import running

if TYPE_CHECKING:
    from rauq.capture.check import Check

JOB, PROMPT = "_check_job", "check_prompt"
_OFTEN = 0.5  # seconds
_WHAT = (
    "The model processes tokens while its attention is captured. The same weights are recomputed in float64 from the "
    "queries, keys and masks of the model's own attention function. Loading a model checks random tokens; here you "
    "can give a prompt."
)
_CAPTION = (
    "For each layer, the captured weight closest to its tolerance, which depends on the magnitude of the attention "
    "scores. Diamonds: the model's own eager attention. The check shows that the weights are the model's, not what "
    "they mean."
)
_QUESTION = "Is the captured attention exact for this model?"


def self_check() -> None:
    """Offer a check of the form's model, follow it and show its result; nothing is loaded without a click."""
    job: Job | None = st.session_state.get(JOB)
    live = job is not None and job.live  # read once: a check that ends now is left to the next run
    if job is not None and job.check is not None:
        _found(job, job.check)
    else:
        headline(_QUESTION)
        st.caption(_WHAT)
    _form(live=live)
    if job is not None and live:
        st.fragment(_follow, run_every=_OFTEN)(job)
    elif job is not None and job.error is not None:
        show_error(job.error)
    elif job is not None:
        format_picker()


def _found(job: Job, check: "Check") -> None:
    headline(sentences.check_sentence(check))
    prompt = f" on “{running(job.request.prompt)}”" if job.request.prompt else " on random tokens"
    st.text(printable(f"{running(job.request.model.name)}{prompt}"))
    chart(check_differences(check, dark=is_dark()), "self_check", "Difference of each layer, log scale")
    if beside := sentences.eager_sentence(check, job.dtype):
        st.text(beside)
    if passes := sentences.passes_sentence(check):
        st.text(passes)
    st.caption(_CAPTION)


def _form(*, live: bool) -> None:
    st.session_state.setdefault(state.MODEL, hosting.first_model())
    with st.container(border=True):
        model_form()
        st.text_area("Prompt (none: random tokens)", key=PROMPT, height=70, persist_state="session")
        choice = chosen_model()
        loaded = models.if_loaded(choice) is not None
        label = "Check attention" if loaded else "Load model and check attention"
        st.button(label, key="check_now", type="primary", on_click=start, disabled=live or not choice.name)


def start() -> None:
    """Start a check unless one is running."""
    job: Job | None = st.session_state.get(JOB)
    if job is None or not job.live:
        request = Request(model=chosen_model(), prompt=st.session_state.get(PROMPT, ""))
        job = st.session_state[JOB] = Job(request)
        jobs.begin_check(job)


def _follow(job: Job) -> None:
    if not job.live:
        st.rerun()
    st.text(printable(f"{stage(job)} … {time.monotonic() - job.begun:.0f} s"))
