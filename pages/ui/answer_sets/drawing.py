"""What all views of a set of answers share: a sentence, figures that can be saved, and a click that opens an answer."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from pages.ui.answer_sets.chosen import Chosen, counts
from pages.ui.answer_sets.sentences import about_counts
from pages.ui.links import NUMBER, RUN

_FORMAT, _FORMATS = "answers_figure_format", ("svg", "png")


def sentence(text: str, chosen: Chosen, more: str = "") -> None:
    """What came out, in our own words and numbers, and how many answers are behind it."""
    st.header(text, anchor=False)
    st.caption("  \n".join(filter(None, [more, about_counts(counts(chosen), chosen.thresholds)])))


def chart(figure: go.Figure, name: str, alt: str) -> None:
    """A figure; its camera saves it under its name."""
    st.plotly_chart(figure, key=f"answers_{name}", config=_buttons(name), alt=alt)


def clickable(figure: go.Figure, name: str, alt: str, chosen: Chosen) -> None:
    """A figure whose points are answers, by their position among those chosen: a click opens the answer in Inspect."""
    event = st.plotly_chart(
        figure, key=f"answers_{name}", config=_buttons(name), alt=alt, on_select="rerun", selection_mode="points"
    )
    for point in event["selection"]["points"]:
        place = point.get("customdata")
        if isinstance(place, int) and 0 <= place < len(chosen.rows):  # the browser says so
            open_in_inspect(chosen, place)


def open_in_inspect(chosen: Chosen, place: int) -> None:
    """Go to Inspect, to the answer at `place` among those chosen; what led there stays in the URL, for the way back."""
    number = int(chosen.column_of("number")[place])
    query = st.query_params.to_dict() | {RUN: chosen.name, NUMBER: str(number)}
    st.switch_page("pages/inspect.py", query_params=query)


def saved_as() -> None:
    """Choose what the cameras save."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("The camera above each figure saves it, as", width="content")
        st.segmented_control(
            "Format of a saved figure",
            _FORMATS,
            default=_FORMATS[0],
            key=_FORMAT,
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )


def dark() -> bool:
    """Whether the page is."""
    return bool(st.context.theme.type == "dark")


def _buttons(name: str) -> dict[str, Any]:
    form = st.session_state.get(_FORMAT, _FORMATS[0])
    options = {"format": form, "filename": name.replace("_", "-"), "scale": 1 if form == "svg" else 3}
    return {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": options}
