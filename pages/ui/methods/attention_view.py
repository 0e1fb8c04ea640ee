"""Does attention matter on this run? RAUQ against itself with its attention exchanged."""

import streamlit as st

from analysis.methods import sentences, tables
from analysis.methods.figures import control_differences
from analysis.report.tables import Table
from pages.ui import cache
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.tables import show_frame, take_along
from pages.ui.of_run.drawing import chart, sentence

_OF_ALL = ["alignment", "tokens"]  # chosen above, the same in every row


def attention(chosen: Chosen) -> None:
    """What is lost when the picked heads' attention is exchanged, group by group."""
    found = cache.control(chosen.run, chosen.rows, chosen.asked.metric, chosen.asked.tokens)
    sentence(sentences.control_sentence(found[0]), chosen)
    chart(control_differences(found, dark=is_dark()), "control", "RAUQ minus RAUQ with other attention put in")
    caption = sentences.control_caption(found)
    table = Table("control", "Does attention matter?", caption, tables.control_table(found))
    st.caption(caption)
    show_frame(table.shown.drop(columns=_OF_ALL), alt="RAUQ with other attention put in, group by group")
    take_along(table)
