"""All methods of a run side by side: how well each ranks its answers, what it costs, and how RAUQ compares."""

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

import rauq
from analysis import paper
from analysis.answer_sets.captions import joined
from analysis.answer_sets.sides import groups_note
from analysis.methods import sentences, tables
from analysis.methods.comparison import RAUQ, Comparison, name_of
from analysis.methods.figures import paired_differences
from analysis.report.tables import Table
from analysis.runs.timings import Cost
from pages.ui import cache
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.lacking import lacking_methods
from pages.ui.methods.published import published_beside
from pages.ui.methods.tables import Column, compared, numbers, show_table, take_along
from pages.ui.of_run.drawing import chart, sentence

_PASSES = "Of the model that answered, beyond the generation, with K samples of N tokens."
_ALONE = (
    "Percent beyond plain generation without capture, one prompt at a time, with its 95 % interval. Each method is "
    "charged with the capture, the samples and the computation that it needs. Compare this one with the paper."
)
_SECONDS = (
    "Seconds an answer beyond its generation in batches: samples are charged in full to every method, no capture is."
)
_OVERHEAD = (
    "These seconds in percent of those of the generation, which answers many prompts at once and includes the capture. "
    "It does not compare with the paper."
)


def ranking(chosen: Chosen) -> None:
    """The table, RAUQ minus each other method, and on demand what the run lacks and what was published."""
    found = cache.comparison(chosen.run, chosen.rows, chosen.asked.metric)
    costs = cache.costs(chosen.run)
    best_first = np.argsort([-one.value for one in found.overall], kind="stable").tolist()
    headline = sentences.comparison_sentence(found.methods, found.overall, metric=found.metric)
    undefined = sentences.undefined_sentence(found.methods, found.overall)
    sentence(headline, chosen, joined(sentences.overall_note(found), sentences.costs_sentence(costs), undefined))
    methods = [found.methods[place] for place in best_first]
    columns = [*compared(found, list(map(name_of, found.methods)), _measured(costs)), _passes(found.methods)]
    show_table(
        [column.at(best_first) for column in columns],
        alt="Methods by groups: how well each ranks the answers",
        ours=methods.index(RAUQ) if RAUQ in methods else None,
    )
    caption = joined(
        sentences.intervals_caption(found),
        sentences.charges_note(costs),
        sentences.judges_note(methods),
        groups_note(chosen.answers["group"]),
    )
    st.caption(f"① best, ② second of a column. {caption}")
    take_along(Table("methods", "Methods", caption, tables.methods_table(found, costs)))
    _differences(found)
    lacking_methods(chosen.run)
    published_beside(chosen, (one for one in paper.published_tables() if one.kind == "methods"))


def _differences(found: Comparison) -> None:
    paired = found.paired
    if paired is None or all(one.reason for one in paired.overall):
        return
    st.header(sentences.paired_sentence(paired.overall, paired.base).removesuffix("."), anchor=False)
    figure = paired_differences(paired.base, paired.methods, paired.overall, metric=found.metric, dark=is_dark())
    chart(figure, "paired_differences", "RAUQ minus every other method, with intervals")
    caption = sentences.paired_caption(paired)
    st.caption(caption)
    take_along(Table("paired", "RAUQ minus other methods", caption, tables.paired_table(paired)))


def _measured(costs: Sequence[Cost]) -> list[Column]:
    """What each method took on this run; nothing where no time is known."""
    if all(math.isnan(cost.seconds) for cost in costs):
        return _alone(costs)
    return [
        *_alone(costs),
        numbers("overhead in batches, %", [100 * cost.overhead for cost in costs], places=1, help=_OVERHEAD),
        numbers("seconds in batches", [cost.seconds for cost in costs], places=3, help=_SECONDS),
    ]


def _alone(costs: Sequence[Cost]) -> list[Column]:
    """The overhead one prompt at a time; nothing where it was not measured."""
    found = [cost.alone for cost in costs]
    if not any(found):
        return []
    ends = [(math.nan,) * 3 if one is None else (one.overhead, one.low, one.high) for one in found]
    values = [100 * value for value, _, _ in ends]
    words = [
        "–" if math.isnan(value) else f"{value:,.1f} [{100 * low:,.1f}, {100 * high:,.1f}]"
        for value, (_, low, high) in zip(values, ends, strict=True)
    ]
    return [Column(title="overhead one at a time, %", values=values, words=words, help=_ALONE)]


def _passes(methods: Sequence[str]) -> Column:
    passes = [rauq.METHODS[method].cost.partition(";")[0] for method in methods]
    return Column(title="extra forward passes", values=passes, help=_PASSES)
