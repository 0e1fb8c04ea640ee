"""All methods of a run side by side: how well each ranks its answers, what it costs, and how RAUQ compares."""

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

import rauq
from analysis import paper
from analysis.answer_sets.groups import groups_note
from analysis.figures.paired_differences import paired_differences
from analysis.methods import captions, tables
from analysis.methods.comparison import Comparison
from analysis.methods.names import name_of
from analysis.report.report_tables import Table
from analysis.runs.costs import Cost
from pages.ui import cache
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.lacking import lacking_methods
from pages.ui.methods.published import published_beside
from pages.ui.methods.tables import Column, compared, numbers, show_table, take_along
from pages.ui.of_run.drawing import chart, sentence

_PASSES = "Beyond the generation, with K samples of N tokens."
_SECONDS = "Measured on this run, beyond the seconds of generation; the samples of a method are charged to it in full."


def ranking(chosen: Chosen) -> None:
    """The table, RAUQ minus each other method, and on demand what the run lacks and what was published."""
    found = cache.comparison(chosen.run, chosen.rows, chosen.asked.metric)
    costs = cache.costs(chosen.run)
    best_first = np.argsort([-one.value for one in found.means], kind="stable").tolist()
    sentence(captions.comparison_sentence(found.methods, found.means, metric=found.metric), chosen, _undefined(found))
    columns = [*compared(found, [name_of(method) for method in found.methods]), *_costs(found.methods, costs)]
    show_table([column.at(best_first) for column in columns], alt="Methods by groups: how well each ranks the answers")
    caption = " ".join(filter(None, [captions.intervals_caption(found), groups_note(chosen.answers["group"])]))
    st.caption(f"① best, ② second of a column. {caption}")
    take_along(Table("methods", "Methods", caption, tables.methods_table(found, costs)))
    _differences(found)
    lacking_methods(chosen.run)
    published_beside(chosen, (one for one in paper.published_tables() if one.kind == "methods"))


def _differences(found: Comparison) -> None:
    if found.paired is None or not found.paired.methods:
        return
    paired = found.paired
    st.header(captions.paired_sentence(paired.means, paired.base), anchor=False)
    figure = paired_differences(paired.base, paired.methods, paired.means, metric=found.metric, dark=is_dark())
    chart(figure, "paired_differences", "RAUQ minus every other method, with intervals")
    caption = f"{captions.paired_caption(paired)} Mean over groups."
    st.caption(caption)
    take_along(Table("paired", "RAUQ minus other methods", caption, tables.paired_table(paired)))


def _costs(methods: Sequence[str], costs: Sequence[Cost]) -> list[Column]:
    passes = [rauq.METHODS[method].cost if method in rauq.METHODS else "" for method in methods]
    measured = {cost.method: cost for cost in costs}
    seconds = [measured[method].seconds for method in methods]
    overhead = [100 * measured[method].overhead for method in methods]
    known = [numbers("seconds an answer", seconds, places=3, help=_SECONDS), numbers("overhead %", overhead, places=1)]
    there = not all(map(math.isnan, seconds))
    return [*(known if there else ()), Column(title="extra forward passes", values=passes, help=_PASSES)]


def _undefined(found: Comparison) -> str:
    return captions.undefined_sentence(found.methods, found.means)
