"""A fitted detector: logistic regression on all heads, beside the same classifier on words, length or group."""

import streamlit as st

from analysis.exports.csv_text import csv_table
from pages.ui.answer_sets.choices import Chosen
from pages.ui.host import head_cache
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import chart, save

_ASKED = "_detectors"  # the answers and settings that the user asked to fit
_SECONDS = 4e-5  # of all fits, for each answer and head, on one core


def detectors(chosen: Chosen) -> None:
    """Draw a button, and once it was pressed for these answers and settings the detectors compared."""
    st.markdown("**Fit a detector**: logistic regression on all heads")
    asked = (chosen.name, chosen.rows.tobytes(), chosen.settings, chosen.thresholds)
    if st.session_state.get(_ASKED) != asked:
        st.button("Fit detectors", key="fit_detectors", on_click=_ask, args=(asked,))
        st.caption(
            "Fits on all heads, on words, on length and on the group, each judged on answers left out of the fit. "
            f"Takes about {_seconds(chosen):,.0f} s."
        )
        return
    _comparison(chosen)


def _ask(asked: object) -> None:
    st.session_state[_ASKED] = asked


def _seconds(chosen: Chosen) -> float:
    return 2 + _SECONDS * len(chosen.rows) * len(chosen.layers) * chosen.run.answerer.num_heads


def _comparison(chosen: Chosen) -> None:
    from analysis.detectors.comparison import (
        detectors_caption,
        detectors_cells,
        detectors_sentence,
        detectors_table,
        table_caption,
    )
    from analysis.detectors.figures import detectors_chart

    found = head_cache.detectors(chosen.run, chosen.rows, chosen.settings, chosen.thresholds)
    st.write(detectors_sentence(found))
    chart(detectors_chart(found, dark=is_dark()), "detectors", "PRR of each detector with its interval")
    st.caption(detectors_caption(found))
    st.dataframe(
        detectors_cells(found), key="detectors_table", hide_index=True, height="content", alt="PRR of detectors"
    )
    save("Table as CSV", "detectors.csv", lambda: csv_table(detectors_table(found)))
    st.caption(table_caption(found))
