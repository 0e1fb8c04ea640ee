"""The page Evidence: one view of what was measured, the check of a model, or the limits."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.figures import check_differences
from analysis.evidence.record import SUBJECTS, Record, missing, of_subjects, records
from pages.ui.evidence import paper
from pages.ui.evidence import records as evidence_records
from pages.ui.evidence.query import Asked, View, read_asked
from pages.ui.evidence.records import headline, not_measured
from pages.ui.host import cache, hosting, jobs
from pages.ui.host.jobs import Job, Request
from pages.ui.shared import state
from pages.ui.shared.errors import printable, show_error
from pages.ui.shared.figure_export import format_picker, is_dark
from pages.ui.shared.model_form import chosen_model, model_form
from pages.ui.shared.run_page import chart, view_picker
from rauq.labels import running

if TYPE_CHECKING:
    from rauq.capture.check import Check


def limits(asked: Asked, kept: Mapping[str, Record]) -> None:
    """Say all of it; what was missed comes from the records of today."""
    del asked  # there is nothing to choose
    missed = sentences.missed_bounds(of_subjects(SUBJECTS, kept))
    headline(sentences.limits_sentence(len(missed)))
    st.write("\n".join(f"- {text}" for text in sentences.LIMITS))
    if missed:
        headline("Bounds that are missed today")
        st.text(printable("\n".join(missed)))
    if absent := missing(SUBJECTS, kept):
        headline("What was not measured")
        not_measured(absent)


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


Draw = Callable[[Asked, Mapping[str, Record]], None]


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A view: what it is called, and what draws it."""

    name: str
    draw: Draw


_SIGHTS = MappingProxyType[View, _Sight](
    {
        "models": _Sight(name="Models", draw=evidence_records.models),
        "check": _Sight(name="Self-check now", draw=self_check),
        "reference": _Sight(name="Reference", draw=evidence_records.reference),
        "speed": _Sight(name="Speed", draw=evidence_records.speed),
        "robustness": _Sight(name="Hard to break", draw=evidence_records.robustness),
        "paper": _Sight(name="The paper", draw=paper.paper_tables),
        "limits": _Sight(name="Limits", draw=limits),
    }
)


def show_evidence() -> None:
    """Draw the view that the URL asks for.

    Raises:
        InvalidInput: a record that is kept cannot be read.
        RunError: the run that stands beside the paper cannot be opened.
    """
    asked = read_asked()
    view_picker({view: one.name for view, one in _SIGHTS.items()}, asked.view, usual="")
    _SIGHTS[asked.view].draw(asked, records())
