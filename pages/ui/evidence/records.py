"""What commands measured and kept, as tables and figures."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from analysis.answer_sets.sentences import joined
from analysis.evidence import sentences
from analysis.evidence.figures import Panel, costs_by_length, differences
from analysis.evidence.record import (
    MODELS,
    REFERENCE,
    ROBUSTNESS,
    SPEED,
    Cell,
    Record,
    Subject,
    computed_memory,
    margins,
    memory_curves,
    missing,
    of_subjects,
    shown,
    time_curves,
)
from analysis.report.tables import Table
from pages.ui.evidence.query import Asked
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_page import chart, choice
from pages.ui.shared.tables import Column, show_table, take_along
from pages.ui.shared.url_state import TABLE

_LETTER, _PADDING = 8, 24  # pixels


def headline(text: str) -> None:
    """What came out, in our own words and numbers."""
    st.header(text.removesuffix("."), anchor=False)


def show_record(record: Record) -> None:
    """Draw all of a record but its headline; its words are drawn as they are."""
    st.text(printable(record.about))
    _lines([f"Missed: {bound.text}" for bound in record.bounds if not bound.met])
    _lines([f"Kept: {bound.text}" for bound in record.bounds if bound.met])
    st.code(record.command, language="bash")
    show_table([_column(record, place) for place in range(len(record.columns))], alt=record.title)
    _lines(record.notes)
    st.text(printable(f"Made {sentences.origin(record)}"))
    frame = pd.DataFrame(record.rows, columns=list(record.columns))
    take_along(Table(record.id, record.title, record.about, frame))


def not_measured(subjects: Sequence[Subject]) -> None:
    """Name what no table is kept of, each with the command that makes it; nothing where all is."""
    if subjects:
        rows = {"not measured": [one.name for one in subjects], "command": [one.command for one in subjects]}
        st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", width=560, alt="What was not measured")


def _column(record: Record, place: int) -> Column:
    """A column of numbers sorts as numbers; where a text stands among them, all are texts."""
    title, cells = record.columns[place], [row[place] for row in record.rows]
    words = list(map(_word, cells))
    if any(isinstance(cell, str) for cell in cells):
        return Column(title=title, values=words)
    width = _LETTER * max(map(len, [title, *words])) + _PADDING
    return Column(title=title, values=cells, words=words, width=width)


def _word(cell: Cell) -> str:
    return printable(shown(cell))


def _lines(texts: Sequence[str]) -> None:
    if texts:
        st.text(printable("\n".join(texts)))


_TIME, _MEMORY = _RECORDS = ("peers_time", "peers_memory")
_CAPTION = (
    "An answer of 64 tokens with its RAUQ score, by the same model, on the processor. Left: CPU time in times of plain "
    "generation, the dotted line, each tool in its own environment; bars are 95 % intervals. Right: peak memory above "
    "the loaded model, on a log scale; bars reach from the least to the most of three processes. Lower is better. It "
    "shows one shape of model on one machine."
)


def beside_peers(kept: Mapping[str, Record]) -> None:
    """Draw what is kept of the comparison; nothing where there is none of it."""
    panels = _panels(kept)
    if panels:
        headline(joined(*(kept[name].finding for name in _RECORDS if name in kept)))
        chart(costs_by_length(panels, dark=is_dark()), "peers", "CPU time and memory by prompt length")
        st.caption(_CAPTION)


def _panels(kept: Mapping[str, Record]) -> list[Panel]:
    panels = []
    if (time := kept.get(_TIME)) is not None:
        title, unit = "CPU time, in times of plain generation", "times plain generation"
        panels.append(Panel(title, unit, time_curves(time), limit=1.0))
    if (memory := kept.get(_MEMORY)) is not None:
        title = "Peak memory above the model, MiB"
        panels.append(Panel(title, "MiB", memory_curves(memory), computed_memory(memory), logarithmic=True))
    return panels


_VIEWS_CAPTION = (
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
        st.caption(_VIEWS_CAPTION)


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
