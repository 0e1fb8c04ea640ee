"""Draw a view of a set of answers: its sentence, its figures side by side where they are narrow, and its tables."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import plotly.graph_objects as go
import streamlit as st

from analysis.answer_sets.sentences import joined
from analysis.exports.csv_text import csv_table
from analysis.exports.tables import Table
from analysis.quality.unclear import about_unclear
from analysis.views.view import Picture, Seen, View
from pages.ui.host import cache
from pages.ui.shared import figure_export
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import ChosenAnswers, chart, clickable, headline, key_of, save
from pages.ui.shared.run_views.tables import show_frame, take_along
from pages.ui.shared.url_state import LAYER, update_url

C = TypeVar("C")
R = TypeVar("R")

_CLICK = {"answer": "Click a point to inspect it.", "layer": "Click to choose a layer."}


def draw(view: View[C, R], chosen: ChosenAnswers, choices: C) -> None:
    """Compute a view and draw all of it."""
    seen = cache.seen(view, chosen, choices)
    say(view, seen, chosen)
    draw_pictures(view.pictures(seen), chosen)
    draw_tables(view.tables(seen), chosen)
    if notes := view.notes(seen):
        st.caption(notes)


def say(view: View[C, R], seen: Seen[C, R], chosen: ChosenAnswers) -> None:
    """Draw what a view found, in words and folded in numbers."""
    headline(view.claim(seen), chosen, view.sentence(seen), view.more(seen), view.bounds(seen))


def draw_pictures(pictures: Sequence[Picture], chosen: ChosenAnswers) -> None:
    """Draw figures with their captions; those that are narrower than the page stand side by side."""
    for row in _rows(pictures):
        if len(row) == 1:
            draw_picture(row[0], chosen)
            continue
        for column, picture in zip(st.columns([one.share for one in row], gap="medium"), row, strict=True):
            with column:
                draw_picture(picture, chosen)


def _rows(pictures: Sequence[Picture]) -> Iterator[list[Picture]]:
    row: list[Picture] = []
    for picture in pictures:
        if sum(one.share for one in (*row, picture)) > 1 and row:
            yield row
            row = []
        row.append(picture)
    if row:
        yield row


def draw_picture(picture: Picture, chosen: ChosenAnswers) -> None:
    """Draw a figure with its caption, or the section that it is folded in."""
    if picture.place == "open":
        _draw_open(picture, chosen)
        return
    folded = st.expander(picture.heading, key=f"figure_{picture.name}", on_change="rerun")
    if folded.open:
        with folded:
            _draw_open(picture, chosen)


def _draw_open(picture: Picture, chosen: ChosenAnswers) -> None:
    """Draw a figure with its caption; a click on a point opens its answer, or chooses its layer."""
    figure = picture.draw(dark=is_dark())
    if picture.click == "answer":
        clickable(figure, picture.name, picture.alt, chosen)
    elif picture.click == "layer":
        _choose_layer(figure, picture, chosen)
    else:
        chart(figure, picture.name, picture.alt)
    if caption := joined(picture.caption, _CLICK.get(picture.click, "")):
        st.caption(caption, help=picture.about or None)


def _choose_layer(figure: go.Figure, picture: Picture, chosen: ChosenAnswers) -> None:
    """Draw a figure over layers; a click on a point writes its layer to the URL."""
    key = key_of(picture.name)

    def choose_it() -> None:
        for point in st.session_state[key]["selection"]["points"]:
            layer = point.get("customdata")
            if isinstance(layer, int) and layer in chosen.layers:  # the value comes from the browser
                update_url({LAYER: str(layer)})

    figure_export.draw(figure, picture.name, key=key, alt=picture.alt, on_select=choose_it, selection_mode="points")


def draw_tables(tables: Sequence[Table], chosen: ChosenAnswers) -> None:
    """Draw tables with buttons that save them."""
    for table in tables:
        _PLACES[table.place](table, chosen)


def save_table(table: Table, chosen: ChosenAnswers) -> None:
    """Draw buttons that save a table; its caption says how many answers are unclear, as the page does."""
    take_along(table._replace(caption=joined(table.caption, about_unclear(int(chosen.unclear.sum())))))


def _open(table: Table, chosen: ChosenAnswers) -> None:
    _show(table)
    save_table(table, chosen)


def _folded(table: Table, chosen: ChosenAnswers) -> None:
    folded = st.expander(f"Table: {table.heading}", key=f"table_{table.name}", on_change="rerun")
    if folded.open:
        with folded:
            _show(table)
    save_table(table, chosen)


def _show(table: Table) -> None:
    show_frame(table.shown, alt=table.heading)
    st.caption(table.caption, help=table.about or None)


def _file(table: Table, _chosen: ChosenAnswers) -> None:
    save(f"{table.heading} as CSV", f"{table.name}.csv", partial(csv_table, table.frame))


_PLACES: dict[str, Callable[[Table, ChosenAnswers], None]] = {"open": _open, "folded": _folded, "file": _file}
