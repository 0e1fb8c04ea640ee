"""Views of what commands measured and kept."""

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.figures import differences
from analysis.evidence.record import (
    MODELS,
    REFERENCE,
    ROBUSTNESS,
    SPEED,
    Record,
    Subject,
    margins,
    missing,
    of_subjects,
)
from pages.ui.camera import is_dark
from pages.ui.evidence.asked import Asked
from pages.ui.evidence.peers_view import beside_peers
from pages.ui.evidence.record_table import headline, not_measured, show_record
from pages.ui.links import TABLE
from pages.ui.of_run.controls import choice
from pages.ui.of_run.drawing import chart

_CAPTION = (
    "Largest difference of each row on a log scale, the upright bar is what is tolerated; further left is closer. A "
    "difference of 0 stands at the left edge. The table below has the numbers."
)


def models(asked: Asked, kept: Mapping[str, Record]) -> None:
    """From which models attention is captured, and how exactly."""
    _only(asked, MODELS, kept, "Every architecture of the table beside the model's own eager attention")


def reference(asked: Asked, kept: Mapping[str, Record]) -> None:
    """Our numbers beside those of the reference implementation."""
    _only(asked, REFERENCE, kept, "Our numbers beside those of the reference implementation")


def speed(asked: Asked, kept: Mapping[str, Record]) -> None:
    """What it costs, beside plain generation and beside the peers."""
    _overview(SPEED, kept)
    st.caption(sentences.WHEN_MISSED)
    beside_peers(kept)
    _one_of(asked, SPEED, kept)


def robustness(asked: Asked, kept: Mapping[str, Record]) -> None:
    """What was done to break it, and what came of it."""
    _overview(ROBUSTNESS, kept)
    _one_of(asked, ROBUSTNESS, kept)


def _only(asked: Asked, subject: Subject, kept: Mapping[str, Record], about: str) -> None:
    del asked  # there is nothing to choose
    if subject.id in kept:
        record = kept[subject.id]
        headline(sentences.record_sentence(record))
        _picture(record)
        show_record(record)
    else:
        headline(f"{about}: not measured yet")
        not_measured([subject])


def _picture(record: Record) -> None:
    """Every row beside its tolerance, where the record has one."""
    if (found := margins(record)) is not None:
        chart(differences(found, dark=is_dark()), record.id, f"{record.title}: differences beside what is tolerated")
        st.caption(_CAPTION)


def _overview(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> None:
    headline(sentences.bounds_sentence(of_subjects(subjects, kept)))


def _one_of(asked: Asked, subjects: Sequence[Subject], kept: Mapping[str, Record]) -> None:
    """One of the records that are kept, and the commands of those that are not."""
    names = {subject.id: _name(subject, kept[subject.id]) for subject in subjects if subject.id in kept}
    if names:
        usual = next(iter(names))
        chosen = asked.table if asked.table in names else usual
        choice("Table", TABLE, names, chosen, usual=usual, label_visibility="collapsed")
        headline(sentences.record_sentence(kept[chosen]))
        show_record(kept[chosen])
    if absent := missing(subjects, kept):
        st.text("Not measured yet, and the commands that measure it:")
        not_measured(absent)


def _name(subject: Subject, record: Record) -> str:
    return subject.name if record.met else f"{subject.name} (missed)"
