"""What all views of a run share: a sentence, figures that can be saved, and a click that opens an answer."""

import plotly.graph_objects as go
import streamlit as st

from pages.ui import camera
from pages.ui.links import FROM, NUMBER, RUN
from pages.ui.of_run.chosen import ChosenAnswers, about_counts, counts


def sentence(text: str, chosen: ChosenAnswers, more: str = "") -> None:
    """What came out, in our own words and numbers, and how many answers are behind it."""
    st.header(text, anchor=False)
    st.caption("  \n".join(filter(None, [more, about_counts(counts(chosen), chosen.thresholds)])))


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


def open_in_inspect(chosen: ChosenAnswers, place: int) -> None:
    """Go to Inspect, to the answer at `place` among those chosen; what led there stays in the URL, for the way back."""
    number = int(chosen.column_of("number")[place])
    query = st.query_params.to_dict() | {RUN: chosen.name, NUMBER: str(number), FROM: chosen.page}
    st.switch_page("pages/inspect.py", query_params=query)
