"""The page Evidence: the claims, the records of a subject, the check of a model, the paper's tables, the limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.record import (
    MODELS,
    REFERENCE,
    RESULTS,
    ROBUSTNESS,
    SPEED,
    SUBJECTS,
    Record,
    missing,
    of_subjects,
    records,
)
from pages.ui.evidence.check import self_check
from pages.ui.evidence.paper import paper_tables
from pages.ui.evidence.query import Asked, View, read_asked
from pages.ui.evidence.records import claims, headline, not_measured, show_records
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.run_views.page import choice


def limits(kept: Mapping[str, Record]) -> None:
    """Draw the limits, the bounds of the current records that are not met, and what was not measured."""
    unmet = sentences.unmet_bounds(of_subjects(SUBJECTS, kept))
    headline(sentences.limits_sentence(len(unmet)))
    st.write("\n".join(f"- {text}" for text in sentences.LIMITS))
    if unmet:
        headline("Bounds not met in the current records")
        st.text(printable("\n".join(unmet)))
    if absent := missing(SUBJECTS, kept):
        headline("What was not measured")
        not_measured(absent)


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name and the function that draws it from what the URL asks for and the records."""

    name: str
    draw: Callable[[Asked, Mapping[str, Record]], None]


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "claims": _ViewSpec(name="Claims", draw=lambda _asked, kept: claims(kept)),
        "results": _ViewSpec(name="Real models", draw=partial(show_records, RESULTS)),
        "models": _ViewSpec(name="Exact capture", draw=partial(show_records, MODELS)),
        "check": _ViewSpec(name="Self-check now", draw=lambda _asked, _kept: self_check()),
        "reference": _ViewSpec(name="Reference", draw=partial(show_records, REFERENCE)),
        "speed": _ViewSpec(name="Speed", draw=partial(show_records, SPEED)),
        "robustness": _ViewSpec(name="Robustness", draw=partial(show_records, ROBUSTNESS)),
        "paper": _ViewSpec(name="The paper", draw=lambda asked, kept: paper_tables(asked, kept.get("overhead"))),
        "limits": _ViewSpec(name="Limits", draw=lambda _asked, kept: limits(kept)),
    }
)


def show_evidence() -> None:
    """Draw the view that the URL asks for.

    Raises:
        InvalidInput: a record cannot be read.
        RunError: the run compared with the paper cannot be opened.
    """
    asked = read_asked()
    names = {view: one.name for view, one in _VIEW_SPECS.items()}
    choice("View", url_state.VIEW, names, asked.view, usual="", label_visibility="collapsed")
    _VIEW_SPECS[asked.view].draw(asked, records())
