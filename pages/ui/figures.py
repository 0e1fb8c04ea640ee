"""The linked views as Plotly figures, to be saved with Plotly's own button."""

import streamlit as st

from analysis.figures.answer import View, drawings
from pages.ui import selection
from rauq.score import Score
from rauq.trace import Trace


def show_figures(trace: Trace, score: Score) -> None:
    """The figures of what is selected, one under the other."""
    form = st.segmented_control("Format", ("svg", "png"), default="svg", required=True, key="figure_format")
    st.caption("They show what is selected above. The camera above each figure saves it.")
    selected = selection.chosen(trace)
    view = View(*selection.layer_and_head(selected, score), selected.token)
    for drawing in drawings(trace, score, view, dark=st.context.theme.type == "dark"):
        saved = {"format": form, "filename": drawing.name, "scale": 1 if form == "svg" else 3}
        config = {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": saved}
        st.header(drawing.heading, anchor=False)
        st.plotly_chart(
            drawing.figure, key=f"figure_{drawing.name.replace('-', '_')}", config=config, alt=drawing.heading
        )
        st.caption(drawing.caption)
