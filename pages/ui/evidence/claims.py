"""The first view of Evidence: the claims that matter, each the finding of a record with a link to its view."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.record import SUBJECTS, Record
from pages.ui.evidence.query import View
from pages.ui.evidence.records import headline, not_measured
from pages.ui.shared.errors import printable
from pages.ui.shared.url_state import TABLE, VIEW, update_url


class Claim(NamedTuple):
    """What is claimed in a few words, the record whose finding is the claim, and the view that shows it."""

    topic: str
    record: str
    view: View
    link: str


CLAIMS = (
    Claim("Ranking", "real_models", "results", "Real models"),
    Claim("Exactness", "models", "models", "Exact capture"),
    Claim("Agreement with the reference", "reference", "reference", "Reference"),
    Claim("Cost", "overhead", "speed", "Speed"),
    Claim("Robustness", "fuzz", "robustness", "Robustness"),
)


def claims(kept: Mapping[str, Record]) -> None:
    """Draw the claims, each with the verdicts on its bounds, and list those without a record."""
    headline("What was measured, in five claims")
    for claim in CLAIMS:
        if (record := kept.get(claim.record)) is not None:
            _claim(claim, record)
    absent = {claim.record for claim in CLAIMS} - set(kept)
    not_measured([subject for subject in SUBJECTS if subject.id in absent])
    st.caption(
        "Each sentence is the result of a measurement. Its view shows the numbers, the bounds and the command that "
        "makes them."
    )


def _claim(claim: Claim, record: Record) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container(gap=None):
            verdicts = sentences.verdict_counts(record.bounds)
            st.caption(f"{claim.topic}. Bounds: {verdicts}." if verdicts else claim.topic)
            st.text(printable(record.finding))
        # a link to the page that is shown would leave the URL as it is
        st.button(
            claim.link,
            key=f"claim_{record.id}",
            icon=":material/arrow_forward:",
            type="tertiary",
            on_click=update_url,
            args=({VIEW: claim.view, TABLE: record.id},),
        )
