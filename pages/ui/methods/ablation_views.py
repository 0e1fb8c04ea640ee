"""RAUQ with something changed: another alpha, or another part."""

import streamlit as st

from analysis import paper
from analysis.answer_sets.captions import joined
from analysis.methods import sentences, tables
from analysis.methods.comparison import RAUQ, name_of
from analysis.methods.figures import alpha_sweep, method_intervals
from analysis.report.tables import Table
from pages.ui import cache
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.published import published_beside
from pages.ui.methods.tables import compared, show_table, take_along
from pages.ui.of_run.drawing import chart, sentence

_SWEEP = (
    "RAUQ at eleven values of alpha: at 1 the signal alone counts, at 0 attention alone. The line and the diamond mark "
    "the paper's. Bands: 95 % bootstrap intervals."
)
_USUAL = (
    "RAUQ itself: of each layer in the middle third the head that looks back most, mean of logs over tokens, largest "
    "layer."
)


def alpha(chosen: Chosen) -> None:
    """RAUQ from alpha 0 to 1, with the paper's value (figure 4)."""
    asked = chosen.asked
    found = cache.sweep(chosen.run, chosen.rows, asked.metric, chosen.signal, asked.alignment)
    group = found.groups[0]
    best = sentences.best_alpha_sentence(found, group)
    sentence(sentences.sweep_sentence(found, group), chosen, best)
    chart(alpha_sweep(found, dark=is_dark()), "alpha", "How well RAUQ ranks at every alpha, group by group")
    st.caption(_SWEEP)
    take_along(Table("alpha", "RAUQ over alpha", _SWEEP, tables.sweep_table(found)))


def ablation(chosen: Chosen) -> None:
    """One table of the paper's ablations, in its layout, and on demand what was published."""
    found = cache.ablated(chosen.run, chosen.rows, chosen.asked.metric, chosen.table.id)
    rows, title = found.comparison, found.ablation.title
    headline = sentences.comparison_sentence(rows.methods, rows.overall, metric=rows.metric, called="variants")
    sentence(headline, chosen, sentences.overall_note(rows))
    ours = rows.methods.index(RAUQ) if RAUQ in rows.methods else None
    show_table(compared(rows, list(map(name_of, rows.methods))), alt=title, ours=ours)
    caption = joined(_USUAL, sentences.intervals_caption(rows), sentences.ablation_note(found))
    st.caption(f"① best, ② second of a column. {caption}")
    take_along(Table(f"ablation_{found.ablation.id}", title, caption, tables.ablation_table(found)))
    chart(method_intervals(rows.methods, rows.overall, metric=rows.metric, dark=is_dark()), "ablation", title)
    published_beside(chosen, (one for one in paper.published_tables() if one.table in found.ablation.published))
