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
    """Draw the limits; bounds that are missed come from the current records."""
    del asked  # this view has no choices
    missed = sentences.missed_bounds(of_subjects(SUBJECTS, kept))
    headline(sentences.limits_sentence(len(missed)))
    st.write("\n".join(f"- {text}" for text in sentences.LIMITS))
    if missed:
        headline("Bounds missed in the current records")
        st.text(printable("\n".join(missed)))
    if absent := missing(SUBJECTS, kept):
        headline("What was not measured")
        not_measured(absent)


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


def self_check(asked: Asked, kept: Mapping[str, Record]) -> None:
    """Offer a check of the form's model, follow it and show its result; nothing is loaded without a click."""
    del asked, kept  # the check is made now
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
    st.session_state.setdefault(state.MODEL, hosting.models()[0])
    with st.container(border=True):
        model_form()
        st.text_area("Prompt (none: random tokens)", key=PROMPT, height=70, persist_state="session")
        choice = chosen_model()
        loaded = cache.if_loaded(choice) is not None
        label = "Check attention" if loaded else "Load model and check attention"
        st.button(label, key="check_now", type="primary", on_click=_start, disabled=live or not choice.name)


def _start() -> None:
    """Start a check unless one is running."""
    job: Job | None = st.session_state.get(JOB)
    if job is None or not job.live:
        request = Request(model=chosen_model(), prompt=st.session_state.get(PROMPT, ""))
        job = st.session_state[JOB] = Job(request)
        jobs.begin_check(job)


def _follow(job: Job) -> None:
    if not job.live:
        st.rerun()
    st.text(printable(f"{job.stage} … {time.monotonic() - job.begun:.0f} s"))


Draw = Callable[[Asked, Mapping[str, Record]], None]


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name and the function that draws it."""

    name: str
    draw: Draw


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "models": _ViewSpec(name="Models", draw=evidence_records.models),
        "check": _ViewSpec(name="Self-check now", draw=self_check),
        "reference": _ViewSpec(name="Reference", draw=evidence_records.reference),
        "speed": _ViewSpec(name="Speed", draw=evidence_records.speed),
        "robustness": _ViewSpec(name="Robustness", draw=evidence_records.robustness),
        "paper": _ViewSpec(name="The paper", draw=paper.paper_tables),
        "limits": _ViewSpec(name="Limits", draw=limits),
    }
)


def show_evidence() -> None:
    """Draw the view that the URL asks for.

    Raises:
        InvalidInput: a record cannot be read.
        RunError: the run compared with the paper cannot be opened.
    """
    asked = read_asked()
    view_picker({view: one.name for view, one in _VIEW_SPECS.items()}, asked.view, usual="")
    _VIEW_SPECS[asked.view].draw(asked, records())
