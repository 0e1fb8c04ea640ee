"""What an answer is scored by: RAUQ, or, where the model did not write it, its largest surprisal."""

import streamlit as st

import rauq
from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import BY, SETTINGS
from rauq.scoring.report import was_given
from rauq.scoring.score import Measure, Score
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.trace import Trace


def measure(trace: Trace, prefix: str = "") -> Measure:
    """Return what finds errors in this answer, unless the URL asks for RAUQ, or has a setting of it."""
    if not was_given(trace) or trace.attribution is not None:
        return "rauq"
    return measure_of_given(prefix)


def measure_of_given(prefix: str = "") -> Measure:
    """Return what an answer that the model did not write is scored by, as the URL asks."""
    query = st.query_params.to_dict()
    return "rauq" if query.get(prefix + BY) == "rauq" or url_state.settings_in(query, prefix) else "surprisal"


def measure_of_both(a: Trace, b: Trace) -> Measure:
    """Return what both of two answers are scored by: where one was generated, RAUQ."""
    return "surprisal" if measure(a) == measure(b) == "surprisal" else "rauq"


def scored(trace: Trace, prefix: str = "") -> Score:
    """Return the score of an answer, by its measure.

    Raises:
        RauqError: settings that do not fit the answer.
    """
    if measure(trace, prefix) == "surprisal":
        return score_surprisal(trace)
    return rauq.score(trace, state.settings(trace, prefix=prefix))


def choose_measure(by: Measure | None, prefix: str = "") -> None:
    """Score given answers by this from now on, RAUQ with the paper's setting; None: answers that were not given."""
    url_state.update_url({prefix + name: None for name in SETTINGS} | {prefix + BY: "rauq" if by == "rauq" else None})
