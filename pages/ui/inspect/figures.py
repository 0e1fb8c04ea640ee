"""The linked views as Plotly figures, saved with Plotly's own button."""

import streamlit as st

from analysis.one_answer.figures import View, drawings
from pages.ui.inspect.front import front
from pages.ui.shared import selection
from pages.ui.shared.figure_export import buttons, format_picker, is_dark
from rauq.scoring.score import Score
from rauq.trace.trace import Trace


def show_figures(trace: Trace, score: Score) -> None:
    """Draw the figures of the current selection, one below the other."""
    format_picker()
    st.caption("These figures show the selection above.")
    selected = selection.chosen(trace)
    view = View(*front(score, trace, selected=selected)[:2], selected.token)
    for drawing in drawings(trace, score, view, dark=is_dark()):
        key = f"figure_{drawing.name.replace('-', '_')}"
        st.header(drawing.heading, anchor=False)
        st.plotly_chart(drawing.figure, key=key, config=buttons(drawing.name), alt=drawing.heading)
        st.caption(drawing.caption)
