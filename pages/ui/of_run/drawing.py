"""What all views of a run share: a sentence, figures that can be saved, and a click that opens an answer."""

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from analysis.report.tables import csv_table
from analysis.runs.verdicts import about_corrections
from pages.ui import camera
from pages.ui.links import FROM, NUMBER, RUN
from pages.ui.of_run.chosen import ChosenAnswers, about_counts, counts
from pages.ui.verdicts import verdict_buttons

UNDEFINED = "–"
_ROW = 35  # pixels
_FORMATS = {"quality": "%.2f", "uncertainty": "%.3f"}  # others are whole numbers


def sentence(text: str, chosen: ChosenAnswers, more: str = "") -> None:
    """What came out, in our own words and numbers, and how many answers are behind it."""
    st.header(text.removesuffix("."), anchor=False)
    about = about_counts(counts(chosen), chosen.thresholds, can_move_thresholds=chosen.can_move_thresholds)
    st.caption("  \n".join(filter(None, [more, " ".join([about, about_corrections(chosen.run)]).strip()])))


def chart(figure: go.Figure, name: str, alt: str) -> None:
    """A figure; its camera saves it under its name."""
    st.plotly_chart(figure, key=f"answers_{name}", config=camera.buttons(name), alt=alt)


def clickable(figure: go.Figure, name: str, alt: str, chosen: ChosenAnswers) -> None:
    """A figure whose points are answers, by their position among those chosen: a click opens the answer in Inspect."""
    event = st.plotly_chart(
        figure, key=f"answers_{name}", config=camera.buttons(name), alt=alt, on_select="rerun", selection_mode="points"
    )
    for point in event["selection"]["points"]:
        place = point.get("customdata")
        if isinstance(place, int) and 0 <= place < len(chosen.rows):  # the browser says so
            open_in_inspect(chosen, place)


def openable(table: pd.DataFrame, name: str, chosen: ChosenAnswers, note: str, *, height: int | None = None) -> None:
    """A table of answers, its index their position among those chosen: a ticked row can be opened in Inspect."""
    event = st.dataframe(
        table,
        key=f"{name}_table",
        hide_index=True,
        height=height if height and len(table) * _ROW > height else "content",
        placeholder=UNDEFINED,
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            column: st.column_config.NumberColumn(format=_FORMATS.get(str(column), "%.0f"))
            for column in table.select_dtypes("number")
        },
        alt="The answers with their quality and uncertainty",
    )
    rows = [row for row in event["selection"]["rows"] if 0 <= row < len(table)]
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Open in Inspect", key="open_answer", type="primary", disabled=not rows)
        save("Table as CSV", f"{name}.csv", lambda: csv_table(table))
        place = int(table.index[rows[0]]) if rows else None
        number = None if place is None else int(chosen.column_of("number")[place])
        verdict_buttons(chosen.run, chosen.name, number)
    st.caption(f"Tick a row to open it or to correct its verdict. {note}")
    if pressed and rows:
        open_in_inspect(chosen, int(table.index[rows[0]]))


def save(label: str, file: str, write: Callable[[], str]) -> None:
    """A button that saves a text; it is written only when the button is pressed."""
    st.download_button(label, write, file, "text/plain", key=file, on_click="ignore")


def open_in_inspect(chosen: ChosenAnswers, place: int) -> None:
    """Go to Inspect, to the answer at `place` among those chosen; what led there stays in the URL, for the way back."""
    number = int(chosen.column_of("number")[place])
    query = st.query_params.to_dict() | {RUN: chosen.name, NUMBER: str(number), FROM: chosen.page}
    st.switch_page("pages/inspect.py", query_params=query)
