"""Records of what was measured: the claims that matter, the chosen record of a list in full, and what is not measured.

The claims are the first view of Evidence: each is a sentence to quote, with a link to the record behind it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from analysis.evidence import sentences
from analysis.evidence.claims import CLAIMS, Claim, Quote, quote_of
from analysis.evidence.figures import drawing
from analysis.evidence.record import SUBJECTS, Record, Subject, missing, of_subjects, shown
from analysis.exports.tables import Table
from pages.ui.evidence.query import Asked
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import chart, choice
from pages.ui.shared.run_views.tables import Column, show_table, take_along
from pages.ui.shared.url_state import TABLE, VIEW, update_url
from pages.ui.shared.words import explained

_LETTER, _TEXT_LETTER, _PADDING = 8, 6, 24  # pixels
_WIDEST = 420  # pixels
_NUMBER_WIDTH = 140  # pixels: of the number that a claim begins with


def show_records(subjects: Sequence[Subject], asked: Asked, kept: Mapping[str, Record]) -> None:
    """Draw the chosen record of these subjects, with the verdict on all of them if there is not exactly one."""
    records = of_subjects(subjects, kept)
    if len(records) != 1:
        headline(sentences.bounds_sentence(records))
    if records:
        show_record(_chosen(subjects, asked, kept) if len(records) > 1 else records[0])
    not_measured(missing(subjects, kept))


def _chosen(subjects: Sequence[Subject], asked: Asked, kept: Mapping[str, Record]) -> Record:
    """Choose one of several records."""
    names = {subject.id: _name(subject, kept[subject.id]) for subject in subjects if subject.id in kept}
    usual = next(iter(names))
    chosen = asked.table if asked.table in names else usual
    choice("Table", TABLE, names, chosen, usual=usual, label_visibility="collapsed")
    return kept[chosen]


def _name(subject: Subject, record: Record) -> str:
    return subject.name if record.verdict == "met" else f"{subject.name} ({record.verdict})"


def headline(text: str) -> None:
    """Show a result as a heading."""
    st.header(text.removesuffix("."), anchor=False, help=explained(text))


def show_record(record: Record) -> None:
    """Draw a record: finding, bounds, figure, table, notes, and how it was measured; its texts are plain text."""
    headline(sentences.record_sentence(record))
    st.text(printable(record.about))
    _lines(sentences.verdict_lines(record.bounds))
    if any(bound.verdict == "inconclusive" for bound in record.bounds):
        st.caption(sentences.INCONCLUSIVE)
    if (drawn := drawing(record)) is not None:
        chart(drawn.draw(record, dark=is_dark()), record.id, f"Figure: {record.title}")
        st.caption(drawn.caption)
    show_table([_column(record, place) for place in range(len(record.columns))], alt=record.title)
    frame = pd.DataFrame(record.rows, columns=list(record.columns))
    take_along(Table(record.id, record.title, record.about, frame))
    _lines(record.notes)
    st.text(printable(f"Measured {sentences.origin(record)}"))
    st.code(record.command, language="bash")


def not_measured(subjects: Sequence[Subject]) -> None:
    """List the subjects without a record, each with the command that makes it; nothing if all have one."""
    if subjects:
        rows = {
            "not measured yet": [subject.name for subject in subjects],
            "command": [subject.command for subject in subjects],
        }
        st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", width=560, alt="What was not measured")


def _column(record: Record, place: int) -> Column:
    """Return a column of numbers, which sorts as numbers, or of texts if it has any text."""
    title, cells = record.columns[place], [row[place] for row in record.rows]
    words = [printable(shown(cell)) for cell in cells]
    longest = max(map(len, [title, *words]))
    if any(isinstance(cell, str) for cell in cells):
        return Column(title=title, values=words, width=min(_TEXT_LETTER * longest + _PADDING, _WIDEST))
    width = _LETTER * longest + _PADDING
    return Column(title=title, values=cells, words=words, width=width)


def _lines(texts: Sequence[str]) -> None:
    if texts:
        st.text(printable("\n".join(texts)))


_ABOUT = (
    "Each sentence is counted from a measurement; brackets are 95 % intervals. Its view shows the finding in full, the "
    "numbers, the bounds and the command that makes them."
)


def claims(kept: Mapping[str, Record]) -> None:
    """Draw the claims, each with those of its bounds that are not met, and the count of all bounds."""
    st.header("Claims", anchor=False, help=f"{_ABOUT}\n\n{explained(_ABOUT)}")
    for claim in CLAIMS:
        if (record := kept.get(claim.record)) is not None:
            _claim(claim, record)
    found = of_subjects(SUBJECTS, kept)
    if any(record.bounds for record in found):
        with _card("bounds", "Limits", {VIEW: "limits", TABLE: None}):
            _quote(sentences.bounds_quote(found))
    absent = {claim.record for claim in CLAIMS} - set(kept)
    not_measured([subject for subject in SUBJECTS if subject.id in absent])


def _claim(claim: Claim, record: Record) -> None:
    with _card(record.id, claim.link, {VIEW: claim.view, TABLE: record.id}):
        _quote(quote_of(claim, record), record)


def _quote(said: Quote, record: Record | None = None) -> None:
    """Draw a claim; of one record with its finding, and with its bounds if some are not met."""
    if said.number:
        st.text(said.number, width=_NUMBER_WIDTH)
    with st.container(gap=None, width="stretch"):
        st.text(printable(said.rest), help=None if record is None else explained(record.finding))
        if record is not None and record.verdict != "met":
            st.caption(sentences.verdict_counts(record.bounds))


@contextmanager
def _card(name: str, link: str, query: Mapping[str, str | None]) -> Iterator[None]:
    """Frame what the body draws, before a link to another view."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"quote-{name}"):
        yield
        # a link to the page that is shown would leave the URL as it is
        st.button(
            link,
            key=f"claim_{name}",
            icon=":material/arrow_forward:",
            type="tertiary",
            on_click=update_url,
            args=(query,),
        )
