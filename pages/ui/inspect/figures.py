"""The linked views as Plotly figures, to be saved with Plotly's own button."""

import streamlit as st

from analysis.one_answer.figures import View, drawings
from pages.ui.shared import selection
from pages.ui.shared.figure_export import buttons, format_picker, is_dark
from rauq.scoring.score import Score
from rauq.trace.trace import Trace


def show_figures(trace: Trace, score: Score) -> None:
    """The figures of what is selected, one under the other."""
    format_picker()
    st.caption("They show what is selected above.")
    selected = selection.chosen(trace)
    view = View(*selection.layer_and_head(selected, score), selected.token)
    for drawing in drawings(trace, score, view, dark=is_dark()):
        key = f"figure_{drawing.name.replace('-', '_')}"
        st.header(drawing.heading, anchor=False)
        st.plotly_chart(drawing.figure, key=key, config=buttons(drawing.name), alt=drawing.heading)
        st.caption(drawing.caption)
