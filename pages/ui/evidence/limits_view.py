"""What this project does not show: its limits in words, the bounds that are missed, and what was not measured."""

from collections.abc import Mapping

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.record import SUBJECTS, Record, missing, of_subjects
from pages.ui.errors import printable
from pages.ui.evidence.asked import Asked
from pages.ui.evidence.record_table import headline, not_measured


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
