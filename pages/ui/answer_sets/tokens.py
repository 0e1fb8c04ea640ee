"""The view Wrong tokens: which signal of a token finds those that state something incorrect."""

import streamlit as st

from analysis.answer_sets.side_figures import head_map
from analysis.exports.csv_text import csv_table
from pages.ui.answer_sets.choices import Chosen
from pages.ui.host import head_cache
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_page import chart, save, sentence

_NO_FACTS = (
    "Which tokens are wrong is unknown in this run. It is known for the sets of facts, and for a file that names the "
    "wrong texts of its answers in a column."
)


def wrong_tokens(chosen: Chosen) -> None:
    """Draw every signal in three comparisons, their table, and a map of all heads."""
    from analysis.tokens.figures import signals_chart
    from analysis.tokens.sentences import (
        detection_caption,
        detection_cells,
        detection_sentence,
        detection_table,
        heads_caption,
        place_sentence,
        table_caption,
        undefined_reason,
    )

    found = head_cache.wrong_tokens(chosen.run, chosen.rows, chosen.settings, chosen.thresholds)
    sentence(detection_sentence(found), chosen, place_sentence(found))
    if undefined_reason(found):
        st.text(_NO_FACTS)
        return
    chart(signals_chart(found, dark=is_dark()), "token_signals", "ROC-AUC of each signal of tokens with its interval")
    st.caption(detection_caption(found))
    st.dataframe(
        detection_cells(found), key="token_table", hide_index=True, height="content", alt="Signals of tokens compared"
    )
    save("Table as CSV", "tokens.csv", lambda: csv_table(detection_table(found)))
    st.caption(table_caption(found))
    figure = head_map(found.heads, found.layers, used=chosen.run.used_layers, dark=is_dark())
    chart(figure, "token_heads", "ROC-AUC of the attention of each head on wrong tokens")
    st.caption(heads_caption())
