"""How a figure is saved from any page: by Plotly's own camera, in one format that holds everywhere."""

import streamlit as st

FORMAT = "figure_format"
FORMATS = ("svg", "png")


def format_picker() -> None:
    """Choose what the cameras save."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("The camera above each figure saves it, as", width="content")
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
    """What a figure's own buttons are: its camera saves a file of this name."""
    form = st.session_state.get(FORMAT, FORMATS[0])
    saved = {"format": form, "filename": name.replace("_", "-"), "scale": 1 if form == "svg" else 3}
    return {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": saved}


def is_dark() -> bool:
    """Whether the page is, and its figures are to be."""
    return bool(st.context.theme.type == "dark")
