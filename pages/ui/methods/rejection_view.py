"""What is gained by leaving out the answers that a method is least sure of."""

import streamlit as st

from analysis.methods import sentences, tables
from analysis.methods.figures import rejection_curves
from analysis.methods.rejections import rejections
from analysis.report.tables import csv_table
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.of_run.drawing import chart, save, sentence

_CAPTION = (
    "Mean quality of what is kept as more and more of the least sure answers are rejected. The oracle rejects the "
    "worst first; a random order gains nothing. PRR is the share of the area between these two, up to half rejected."
)


def rejection(chosen: Chosen) -> None:
    """A curve for each of some methods, with the oracle and a random order."""
    found = rejections(chosen.uncertainties(chosen.some_methods), chosen.quality)
    sentence(sentences.rejections_caption(found), chosen)
    chart(rejection_curves(found, dark=is_dark()), "rejection", "Mean quality over the share of rejected answers")
    st.caption(_CAPTION)
    save("Curves as CSV", "rejection.csv", lambda: csv_table(tables.rejections_table(found)))
