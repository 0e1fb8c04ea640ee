"""An example of a file that a run can be made from: three rows to read, and the same rows as a file."""

from functools import partial

import pandas as pd
import streamlit as st

from analysis.exports.csv_text import csv_table

NAME = "example.csv"
ROWS = (
    ("What is the capital of Australia?", "Canberra", "The capital of Australia is Canberra."),
    ("Who composed The Magic Flute?", "Wolfgang Amadeus Mozart", "The Magic Flute was composed by John Williams."),
    ("In which country is Kyoto?", "Japan", "Kyoto is in Japan."),
)
_ABOUT = (
    "Without answers, the model writes them. With references, or with a column that says which answers are correct, "
    "their quality is measured. Columns may have other names."
)


def example_file() -> None:
    """Show the rows, and offer them as a file."""
    rows = pd.DataFrame(ROWS, columns=["prompt", "reference", "answer"])
    st.caption("An example; only prompts are needed.", help=_ABOUT)
    st.dataframe(rows, hide_index=True, height="content", alt="Three rows of a file")
    write, icon = partial(csv_table, rows), ":material/download:"
    st.download_button("Example file", write, NAME, "text/csv", key="example_file", on_click="ignore", icon=icon)
