"""How a figure is saved from any page: with Plotly's own camera button, in one format for all pages."""

import streamlit as st

FORMAT = "figure_format"
FORMATS = ("svg", "png")


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


def buttons(name: str) -> dict[str, object]:
    """Return Plotly's options for a figure's buttons; the camera button saves a file of this name."""
    form = st.session_state.get(FORMAT, FORMATS[0])
    saved = {"format": form, "filename": name.replace("_", "-"), "scale": 1 if form == "svg" else 3}
    return {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": saved}


def is_dark() -> bool:
    """Return whether the page has a dark theme, which its figures follow."""
    return bool(st.context.theme.type == "dark")
