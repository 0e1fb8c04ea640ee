"""How a figure is drawn on any page, and saved: with Plotly's own camera button, in one format for all pages."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

FORMAT = "figure_format"
FORMATS = ("svg", "png")
_BUTTONS = 28  # pixels: the buttons of a figure stand over its upper edge


def format_picker() -> None:
    """Choose the file format of the camera buttons."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("The camera button above each figure saves it as", width="content")
        st.segmented_control(
            "Format of a saved figure",
            FORMATS,
            default=FORMATS[0],
            key=FORMAT,
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )


def draw(figure: go.Figure, name: str, *, key: str, alt: str, **options: Any) -> Any:  # noqa: ANN401 - as Streamlit has it
    """Draw a figure below its buttons, whose camera saves it under `name`; `options` and event are Streamlit's."""
    return st.plotly_chart(below_buttons(figure), key=key, config=buttons(name), alt=alt, **options)


def below_buttons(figure: go.Figure) -> go.Figure:
    """A copy with as much more room above as its buttons take, so that they lie on no title, legend or cell."""
    height, top = figure.layout.height + _BUTTONS, figure.layout.margin.t + _BUTTONS
    return go.Figure(figure).update_layout(height=height, margin={"t": top})


def buttons(name: str) -> dict[str, object]:
    """Return Plotly's options for a figure's buttons; the camera button saves a file of this name."""
    form = st.session_state.get(FORMAT, FORMATS[0])
    saved = {"format": form, "filename": name.replace("_", "-"), "scale": 1 if form == "svg" else 3}
    return {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": saved}


def is_dark() -> bool:
    """Return whether the page has a dark theme, which its figures follow."""
    return bool(st.context.theme.type == "dark")
