"""A record as a reader sees it: what it is, its table, its bounds, and how to have it again."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.record import Cell, Record, Subject, shown
from analysis.report.tables import Table
from pages.ui.errors import printable
from pages.ui.methods.tables import Column, show_table, take_along

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
