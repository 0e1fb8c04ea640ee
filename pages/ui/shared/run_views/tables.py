"""A table of a view: numbers with their intervals, the best ones marked, and buttons to export it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any
from zlib import crc32

import pandas as pd
import streamlit as st

from analysis.exports.csv_text import csv_table
from analysis.exports.tables import Table, headings, latex_table, rows_of_cells
from analysis.methods.comparison import Comparison, headline_groups, marks, title_of
from analysis.stats import METRICS, Estimate
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import UNDEFINED, save
from rauq.labels import number, running

_SIGNS = ("", "① ", "② ")
_BEST = "font-weight: 700"
_OURS = "background-color: rgba(232, 101, 10, 0.14)"  # RAUQ's colour in figures
_WIDTH = 132  # pixels: of a value in bold with its sign and its interval
_NAMES, _NAMES_ON_PHONE = 345, 160  # pixels: most for names; on a phone, a value has to stand beside them
_LETTER, _MARGIN = 7, 20  # pixels: of a name, which is drawn in about this width
_MOST = 6  # columns: so many have room on a screen of 1280 pixels
_LINES_ON_PHONE = 66  # pixels: from 65 on, Streamlit wraps the text of a cell


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table on the page: texts, or numbers to sort by and, in `words`, what is displayed instead.

    `marks`: 1 for the best of the column, 2 for the second, else 0. A `title` is shown as text. `on_demand`: it is
    drawn once the user asks for all columns.
    """

    title: str
    values: Sequence[Any]
    words: Sequence[str] = ()
    marks: Sequence[int] = ()
    help: str | None = None
    width: int | None = None
    on_demand: bool = False

    def at(self, rows: Sequence[int]) -> "Column":
        """Return the column with its rows in another order."""
        return replace(
            self,
            values=[self.values[row] for row in rows],
            words=[self.words[row] for row in rows] if self.words else (),
            marks=[self.marks[row] for row in rows] if self.marks else (),
        )


def compared(comparison: Comparison, names: Sequence[str], costs: Sequence[Column] = ()) -> list[Column]:
    """Return how well each method ranks answers: all of them, on average within groups, and in each group.

    The first of these columns names the metric. Where there are several groups, each of them is drawn on demand, and so
    are costs but the first.
    """
    method = Column(title="method", values=names)
    titles = [f"{METRICS[comparison.metric]}, all answers", *map(title_of, comparison.groups[1:])]
    groups = [ranked(*pair) for pair in zip(titles, map(comparison.of_group, comparison.groups), strict=True)]
    if len(groups) == 1:
        return [method, *groups, *costs]
    rank = numbers("mean rank", comparison.mean_ranks.tolist(), places=1)
    first = len(headline_groups(comparison.groups))
    others = [replace(column, on_demand=True) for column in (*costs[1:], *groups[first:])]
    return [method, *groups[:first], rank, *costs[:1], *others]


def numbers(title: str, values: Sequence[float], *, places: int, help: str | None = None) -> Column:  # noqa: A002 - Streamlit's word
    """Return a column of numbers with `places` decimals; a dash where undefined."""
    return Column(title=title, values=values, words=[number(value, places=places) for value in values], help=help)


def ranked(title: str, estimates: Sequence[Estimate]) -> Column:
    """Return a column of values to sort by, displayed with their intervals, the best two marked."""
    values = [found.value for found in estimates]
    words, signs = list(map(_words, estimates)), marks(estimates).tolist()
    return Column(title=title, values=values, words=words, marks=signs, width=_WIDTH)


def show_table(columns: Sequence[Column], *, alt: str, ours: int | None = None) -> None:
    """Draw a table in full height: the best of a column bold, the best two with a sign, the row `ours` tinted.

    The first column, which stays in view, is as wide as its names; on a phone they are wrapped.
    """
    columns = _asked(columns, alt)
    frame = pd.DataFrame({str(place): list(column.values) for place, column in enumerate(columns)})
    styler = frame.style.map(lambda _: _names(dark=is_dark()), subset=["0"])
    if ours is not None:
        styler.map(lambda _: _OURS, subset=pd.IndexSlice[[ours], :])
    for place, column in enumerate(columns):
        own = [str(place)]
        if column.words:
            styler.format(_in_turn(column), subset=own)
        if column.marks:
            styler.apply(_bold, marks=column.marks, subset=own)
    with st.container(key=f"table_of_{len(frame)}_{crc32(repr((alt, columns)).encode()):08x}"):  # see `styled.py`
        st.dataframe(
            styler,
            hide_index=True,
            height="content",
            row_height=_LINES_ON_PHONE if _on_phone() and _width_of(columns[0]) > _NAMES_ON_PHONE else None,
            column_config=_headings(columns),
            placeholder=UNDEFINED,
            alt=alt,
        )


def _asked(columns: Sequence[Column], alt: str) -> list[Column]:
    """Return the columns to draw, and draw what asks for all of them where some are drawn on demand."""
    always = [column for column in columns if not column.on_demand]
    if len(always) == len(columns) or len(columns) <= _MOST:
        return list(columns)
    key = f"all_columns_{crc32(alt.encode()):08x}"
    return list(columns) if st.toggle(f"All {len(columns)} columns", key=key) else always


def _width_of(names: Column) -> int:
    """Return the pixels that a column of names takes in full."""
    texts = names.words or list(map(str, names.values))
    return _MARGIN + _LETTER * max(map(len, (names.title, *texts)))


def _on_phone() -> bool:
    """Return whether the browser says that it is a phone's; the width of its window is not known here."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


def show_frame(frame: pd.DataFrame, *, alt: str) -> None:
    """Draw a table of results with the cells of a report."""
    read = zip(headings(frame), zip(*rows_of_cells(frame), strict=True), frame, strict=True)
    show_table([Column(title=title, values=frame[name].tolist(), words=cells) for title, cells, name in read], alt=alt)


def take_along(table: Table) -> None:
    """Show buttons that save the whole table; the file is written only when one is pressed."""
    caption, whole = f"{table.heading}. {table.words}", table._replace(rows=None)
    with st.container(horizontal=True, vertical_alignment="center"):
        save("Table as CSV", f"{table.name}.csv", lambda: csv_table(table.frame))
        save("Table as LaTeX", f"{table.name}.tex", lambda: latex_table(whole.shown, caption=caption, label=table.name))


def _names(*, dark: bool) -> str:
    """Return the text colour of a pinned column, which Streamlit draws pale: black and white keep enough contrast."""
    return f"color: {'#ffffff' if dark else '#000000'}"


def _words(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "–"
    value, low, high = (number(one, places=2) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _in_turn(column: Column) -> Callable[[object], str]:
    """Return what pandas asks for the text of each cell of a column, from the first row to the last."""
    # One function for each cell takes pandas a third of a second for a table of 300 cells.
    signs = [_SIGNS[mark] for mark in column.marks] or [""] * len(column.words)
    texts = cycle([f"{sign}{words}" for sign, words in zip(signs, column.words, strict=True)])
    return lambda _: next(texts)


def _bold(_column: pd.Series, *, marks: Sequence[int]) -> list[str]:
    return [_BEST if mark == 1 else "" for mark in marks]


def _headings(columns: Sequence[Column]) -> dict[str, Any]:
    """Return titles by column name: two titles may be the same, but column names may not."""
    names = min(_width_of(columns[0]), _NAMES_ON_PHONE if _on_phone() else _NAMES)
    return {
        str(place): st.column_config.Column(
            printable(running(column.title)),
            help=column.help,
            width=column.width if place else names,
            pinned=place == 0,
        )
        for place, column in enumerate(columns)
    }
