"""The self-check of a model, run on request: captured attention beside float64 weights of the same inputs."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.figures import check_differences
from analysis.evidence.record import Record
from pages.ui import cache, hosting, jobs, state
from pages.ui.camera import format_picker, is_dark
from pages.ui.errors import printable, show_error
from pages.ui.evidence.asked import Asked
from pages.ui.evidence.record_table import headline
from pages.ui.jobs import Job, Request
from pages.ui.model_form import chosen_model, model_form
from pages.ui.of_run.drawing import chart
from rauq.labels import running

if TYPE_CHECKING:
    from rauq.capture.check import Check

JOB, PROMPT = "_check_job", "check_prompt"
_OFTEN = 0.5  # seconds
_WHAT = (
    "Tokens go through the model while its attention is captured. The same weights are recomputed in float64 from the "
    "queries, keys and masks that enter the model's own attention function. Loading a model checks random tokens; here "
    "you can give a prompt."
)
_CAPTION = (
    "For each layer, the captured weight that comes closest to its tolerance, which follows from the size of the "
    "attention scores. Diamonds: the model's own eager attention. The check shows that the weights are the model's, "
    "not what they mean."
)
_QUESTION = "Is the captured attention the model's own, here and now?"


def self_check(asked: Asked, kept: Mapping[str, Record]) -> None:
    """Offer a check of the model of the form, follow it, and show what it found; nothing is loaded unasked."""
    del asked, kept  # it is made now
    job: Job | None = st.session_state.get(JOB)
    live = job is not None and job.live  # asked once: one that ends now is for the next run
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
    st.session_state.setdefault(state.MODEL, hosting.models()[0])
    with st.container(border=True):
        model_form()
        st.text_area("Prompt (none: random tokens)", key=PROMPT, height=70, persist_state="session")
        choice = chosen_model()
        loaded = cache.if_loaded(choice) is not None
        label = "Check it now" if loaded else "Load the model and check it"
        st.button(label, key="check_now", type="primary", on_click=_start, disabled=live or not choice.name)


def _start() -> None:
    """Begin a check, unless one is at work."""
    job: Job | None = st.session_state.get(JOB)
    if job is None or not job.live:
        request = Request(model=chosen_model(), prompt=st.session_state.get(PROMPT, ""))
        job = st.session_state[JOB] = jobs.prepare(request)
        jobs.begin_check(job)


def _follow(job: Job) -> None:
    if not job.live:
        st.rerun()
    st.text(printable(f"{job.stage} … {time.monotonic() - job.begun:.0f} s"))
