"""The page Methods: one view of a run, of rankings or single answers, below the choices it depends on."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import rauq
from analysis import paper
from analysis.answer_sets.figures import quality_bins_chart
from analysis.answer_sets.quality_curves import quality_bins
from analysis.answer_sets.sentences import joined, score_bins_caption
from analysis.answer_sets.sides import groups_note
from analysis.answer_sets.tables import quality_bins_table
from analysis.exports.csv_text import csv_table
from analysis.figures import UNCERTAINTY
from analysis.methods import sentences
from analysis.methods import tables as method_tables
from analysis.methods.agreement import disagreement, method_agreement
from analysis.methods.alpha_figures import alpha_groups, alpha_sweep
from analysis.methods.attention_permutation import DERANGEMENTS, GroupControl
from analysis.methods.comparison import ALL, RAUQ, Comparison, headline_groups, name_of, rejections
from analysis.methods.errors import error_analysis
from analysis.methods.figures import (
    agreement_map,
    control_differences,
    method_intervals,
    paired_differences,
    rejection_curves,
)
from analysis.methods.score_ranking import score_sentence, simple_sentence, unnamed_note, within_sentence
from analysis.methods.unclear import comparison_bounds_sentences, score_bounds_sentence, with_bounds
from analysis.paper import Published
from analysis.quality.unclear import about_unclear
from analysis.report.tables import Table
from analysis.runs.methods import ASKABLE, about_unknown_methods, check_comparable, options_for
from analysis.runs.opened import MOST_RANKED, MOST_SAMPLED, Run
from analysis.runs.own import row_of
from analysis.runs.timings import Cost
from pages.ui.host import cache
from pages.ui.methods import choices, collection
from pages.ui.methods.choices import OF_ONE_RUN, PAGE, Asked, Chosen, View, choose, fitted
from pages.ui.methods.collection import several_runs
from pages.ui.methods.supervised import supervised as supervised_tables
from pages.ui.shared import url_state
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.run_views.page import (
    chart,
    clickable,
    default_thresholds,
    draw_view,
    filters,
    key_of,
    open_run,
    openable,
    put,
    run_picker,
    save,
    sentence,
    view_picker,
    write,
)
from pages.ui.shared.tables import Column, compared, numbers, show_frame, show_table, take_along
from rauq.labels import amount, number, running
from rauq.methods.method import Method

_NONE = ""
_OURS = "RAUQ"


def published_beside(chosen: Chosen, tables: Iterable[Published]) -> None:
    """Draw the choice among the paper's tables, none by default, and the chosen table."""
    at_hand = {table.ref: table for table in tables if table.metric == chosen.asked.metric}
    if not at_hand:
        return
    wanted = chosen.asked.published if chosen.asked.published in at_hand else _NONE
    put(url_state.PUBLISHED, wanted)
    options: dict[str, Any] = {
        "key": key_of(url_state.PUBLISHED),
        "on_change": write,
        "args": (url_state.PUBLISHED, _NONE),
    }
    st.selectbox(
        "Published numbers",
        [_NONE, *at_hand],
        format_func=lambda ref: at_hand[ref].title if ref else "not shown",
        width=620,
        **options,
    )
    if wanted:
        _show(at_hand[wanted])


def _show(published: Published) -> None:
    frame = paper.published(published.table, published.model)
    columns = [name for name in frame if name not in {"method", "published"}]
    rows = frame["published"].tolist()
    show_table(
        [
            Column(title="published row", values=rows, width=285),
            *(numbers(name, frame[name].tolist(), places=3) for name in columns),
        ],
        alt=published.title,
        ours=rows.index(_OURS) if _OURS in rows else None,
    )
    st.caption(joined(sentences.published_note(), *_overheads(published)))


def _overheads(published: Published) -> tuple[str, ...]:
    """Return the published cost, which is shown with tables of methods only."""
    return (sentences.published_overheads(), sentences.COMPARABLE) if published.kind == "methods" else ()


_GREY = "color: #8b95a1"


def missing_methods(run: Run) -> None:
    """List the methods not computed in this run, folded, and those unknown to this version, if any."""
    if unknown := about_unknown_methods(run.manifest.request):
        st.text(unknown)
    absent = [rauq.METHODS[method] for method in ASKABLE if method not in run.methods]
    if not absent:
        return
    label = f"{len(absent)} methods not computed in this run"
    folded = st.expander(label, key="methods_lacking", on_change="rerun")
    if folded.open:
        with folded:
            rows = {"method": [method.name for method in absent], "what to do": list(map(_what_to_do, absent))}
            st.dataframe(
                pd.DataFrame(rows).style.map(lambda _: _GREY, subset=["method"]),
                hide_index=True,
                height="content",
                alt="Methods not run",
            )


def _what_to_do(method: Method) -> str:
    if "facts" in method.needs:
        return "Facts are known only for embedded prompts and the sets of facts: score --data facts, or --data atlas."
    return f"Score again with --methods {method.id} {options_for(method.id)}".rstrip()


_PASSES = "Forward passes of the answering model beyond the generation, with K samples of N tokens."
_ALONE = (
    "Extra time in percent of plain generation without capture, one prompt at a time, with 95 % interval. Includes "
    "the capture, samples and computation that the method needs. Comparable with the paper."
)
_SECONDS = (
    "Extra seconds per answer beyond generation in batches. Samples count in full for each method; capture is excluded."
)
_OVERHEAD = (
    "Those seconds in percent of generation in batches, which includes the capture. Not comparable with the paper."
)


def ranking(chosen: Chosen) -> None:
    """Draw the table, RAUQ minus each other method, and on demand missing methods and published numbers."""
    comparison = cache.comparison(chosen.run, chosen.rows, chosen.asked.metric)
    costs = cache.costs(chosen.run)
    best_first = np.argsort([-one.value for one in comparison.of_group(ALL)], kind="stable").tolist()
    headline, *within = sentences.comparison_sentences(comparison)
    undefined = sentences.undefined_sentence(comparison.methods, comparison.of_group(ALL))
    simple = cache.simple_rankings(chosen.run, chosen.rows, chosen.asked.metric)
    bounds = cache.comparison_bounds(chosen.run, chosen.rows, chosen.asked.metric)
    sentence(
        headline,
        chosen,
        joined(*within, unnamed_note(simple, comparison.methods), simple_sentence(simple), undefined),
        joined(*comparison_bounds_sentences(bounds, comparison)),
    )
    methods = [comparison.methods[place] for place in best_first]
    columns = [
        *compared(comparison, list(map(name_of, comparison.methods)), _measured(costs)),
        _passes(comparison.methods),
    ]
    show_table(
        [column.at(best_first) for column in columns],
        alt="Methods by groups: how well each ranks the answers",
        ours=methods.index(RAUQ) if RAUQ in methods else None,
    )
    caption = joined(
        sentences.intervals_caption(comparison),
        sentences.within_note(comparison),
        sentences.costs_sentence(costs),
        sentences.charges_note(costs),
        sentences.judges_note(methods),
        groups_note(chosen.answers["group"]),
    )
    st.caption(f"① best, ② second of a column. {caption}")
    table = with_bounds(method_tables.methods_table(comparison, costs), bounds)
    _take_along(chosen, Table("methods", "Methods", caption, table))
    _differences(chosen, comparison)
    missing_methods(chosen.run)
    published_beside(chosen, (one for one in paper.published_tables() if one.kind == "methods"))


def _differences(chosen: Chosen, comparison: Comparison) -> None:
    paired = comparison.paired
    if paired is None or all(one.reason for column in paired.headline.values() for one in column):
        return
    headline, *more = sentences.paired_sentences(paired)
    st.header(headline.removesuffix("."), anchor=False)
    if more:
        st.caption(joined(*more))
    figure = paired_differences(paired.base, paired.methods, paired.headline, metric=comparison.metric, dark=is_dark())
    chart(figure, "paired_differences", "RAUQ minus every other method, with intervals")
    caption = sentences.paired_caption(paired)
    st.caption(caption)
    _take_along(chosen, Table("paired", "RAUQ minus other methods", caption, method_tables.paired_table(paired)))


def _take_along(chosen: Chosen, table: Table) -> None:
    """Show buttons that save a table; its caption says how many answers are unclear, as the page does."""
    take_along(table._replace(caption=joined(table.caption, about_unclear(int(chosen.unclear.sum())))))


def _measured(costs: Sequence[Cost]) -> list[Column]:
    """Return what each method took on this run; nothing if no time is known."""
    if all(math.isnan(cost.seconds) for cost in costs):
        return _alone(costs)
    return [
        *_alone(costs),
        numbers("overhead in batches, %", [100 * cost.overhead for cost in costs], places=1, help=_OVERHEAD),
        _seconds([cost.seconds for cost in costs]),
    ]


def _seconds(values: Sequence[float]) -> Column:
    """Return a column of times, in which a short one is more than nothing."""
    words = [amount(value, places=3) for value in values]
    return Column(title="seconds in batches", values=values, words=words, help=_SECONDS)


def _alone(costs: Sequence[Cost]) -> list[Column]:
    """Return the overhead one prompt at a time; nothing if it was not measured."""
    found = [cost.alone for cost in costs]
    if not any(found):
        return []
    ends = [(math.nan,) * 3 if one is None else (100 * one.overhead, 100 * one.low, 100 * one.high) for one in found]
    values = [value for value, _, _ in ends]
    words = [
        "–" if math.isnan(value) else "{} [{}, {}]".format(*(number(end, places=1) for end in (value, low, high)))
        for value, low, high in ends
    ]
    return [Column(title="overhead one at a time, %", values=values, words=words, help=_ALONE)]


def _passes(methods: Sequence[str]) -> Column:
    costs = [row.cost if (row := row_of(method)) else "" for method in methods]
    passes = [running(cost.partition(";")[0]) for cost in costs]
    return Column(title="extra forward passes", values=passes, help=_PASSES)


_CAPTION = (
    "Mean quality of the remaining answers as the least confident are rejected first. The oracle rejects the worst "
    "first; a random order gains nothing. PRR: share of the area between these two, up to 50 % rejected."
)


def rejection(chosen: Chosen) -> None:
    """Draw a curve for each chosen method, with the oracle and a random order."""
    found = rejections(chosen.uncertainties(chosen.some_methods), chosen.quality)
    sentence(sentences.rejections_caption(found), chosen)
    chart(rejection_curves(found, dark=is_dark()), "rejection", "Mean quality by share of rejected answers")
    st.caption(_CAPTION)
    save("Curves as CSV", "rejection.csv", lambda: csv_table(method_tables.rejections_table(found)))


_OF_ALL = ["alignment", "tokens"]  # chosen above, so the same in every row


def attention(chosen: Chosen) -> None:
    """Draw what is lost when the selected heads' attention is exchanged, group by group."""
    found = cache.control(chosen.run, chosen.rows, chosen.asked.metric, chosen.asked.tokens)
    headline, *more = sentences.control_sentences(found)
    sentence(headline, chosen, joined(*more))
    shown = headline_groups([control.group for control in found])
    whole = [control for control in found if control.group in shown]
    chart(control_differences(whole, dark=is_dark()), "control", "RAUQ minus RAUQ with replaced attention")
    caption = joined(sentences.control_caption(found), sentences.within_note(found))
    table = Table("control", "Does attention matter?", caption, method_tables.control_table(found))
    st.caption(caption)
    if len(found) > len(whole):
        _each_group(found[len(whole) :])
    show_frame(table.shown.drop(columns=_OF_ALL), alt="RAUQ with replaced attention, group by group")
    _take_along(chosen, table)


def _each_group(controls: Sequence[GroupControl]) -> None:
    """Draw the same differences in each group, folded."""
    folded = st.expander("Each group", key="control_groups", on_change="rerun")
    if folded.open:
        with folded:
            name = "control_of_groups"
            chart(control_differences(controls, dark=is_dark()), name, "The same differences, group by group")


_AGREEMENT = "Spearman's rank correlation of the uncertainties of two methods; 1: same order of the answers."
_ERRORS = (
    "The paper's error analysis (appendix G) judged 20 answers at each end by hand. Here an answer is erroneous if "
    "its quality is not above the threshold."
)


def scores(chosen: Chosen) -> None:
    """Draw one point per answer; a click opens it."""
    uncertainty, quality = chosen.uncertainties([chosen.method])[chosen.method], chosen.quality
    ranked = cache.score_ranking(chosen.run, uncertainty, chosen.rows, chosen.thresholds)
    bounds = cache.score_bounds(chosen.run, uncertainty, chosen.rows, chosen.thresholds)
    sentence(score_sentence(ranked), chosen, within_sentence(ranked), score_bounds_sentence(bounds))
    tenths = quality_bins(uncertainty, quality, clusters=chosen.run.clusters[chosen.rows])
    figure = quality_bins_chart(tenths, title="uncertainty", colour=UNCERTAINTY, dark=is_dark())
    clickable(figure, "score_and_quality", "Quality of each answer by its uncertainty, with bin means", chosen)
    caption = score_bins_caption(f"uncertainty under {name_of(chosen.method)}")
    st.caption(f"{caption} Click a point to open the answer in Inspect.")
    save("Tenths as CSV", "tenths.csv", lambda: csv_table(quality_bins_table(tenths, of="uncertainty")))


def agreement(chosen: Chosen) -> None:
    """Draw the answers on which RAUQ and another method disagree most, and the agreement of all methods."""
    found = method_agreement(chosen.uncertainties(chosen.methods))
    first, second = RAUQ, chosen.other
    apart = disagreement(*chosen.uncertainties((first, second)).values())
    sentence(
        sentences.agreement_sentence(found),
        chosen,
        sentences.disagreement_sentence(apart, chosen.quality, first, second),
    )
    openable(
        method_tables.disagreement_table(apart, chosen.answers, first, second),
        "disagreement",
        chosen,
        "Percentile: share of answers that are at most as uncertain; 100 is the least confident.",
        height=560,
    )
    chart(agreement_map(found, dark=is_dark()), "agreement", "Rank correlation between the methods")
    st.caption(_AGREEMENT)
    table = method_tables.agreement_table(found)
    _take_along(chosen, Table("agreement_of_methods", "Agreement of methods", _AGREEMENT, table))


def errors(chosen: Chosen) -> None:
    """Draw the share of erroneous answers at both ends of a ranking (paper, error analysis)."""
    uncertainty = chosen.uncertainties([chosen.method])[chosen.method]
    labels = chosen.column_of("error_label").tolist()
    found = error_analysis(uncertainty, chosen.quality, labels, thresholds=chosen.thresholds)
    sentence(sentences.errors_sentence(found, chosen.method), chosen, sentences.errors_note(found))
    frame = method_tables.errors_table(found, chosen.method)
    show_frame(frame, alt="Share of erroneous answers at both ends of the ranking")
    st.caption(f"{_ERRORS} {sentences.published_shares()}")
    _take_along(chosen, Table("errors", "Error analysis", _ERRORS, frame))


_SWEEP = (
    "RAUQ from alpha 0, attention alone, to 1, the signal alone. Shuffled: the weights of another answer of the group "
    f"(mean of {DERANGEMENTS} draws); constant: the mean of each layer. Below: real minus other attention; above 0 the "
    "real one ranks better. Bands and bars: 95 % intervals by question."
)
_USUAL = (
    "RAUQ itself: in each layer of the middle third the head with the most previous-token attention, mean of logs over "
    "tokens, maximum over layers."
)


def alpha(chosen: Chosen) -> None:
    """Draw RAUQ from alpha 0 to 1 with real, shuffled, constant and no attention (figure 4)."""
    asked = chosen.asked
    found = cache.sweep(chosen.run, chosen.rows, asked.metric, chosen.signal, asked.alignment)
    sentence(sentences.sweep_sentence(found), chosen)
    chart(alpha_sweep(found, dark=is_dark()), "alpha", "Ranking by RAUQ at every alpha by kind of attention")
    caption = joined(_SWEEP, sentences.within_note(found))
    st.text("\n".join(sentences.attention_sentences(found)))
    st.caption(caption)
    _take_along(chosen, Table("alpha", "RAUQ over alpha", caption, method_tables.sweep_table(found)))
    if len(found.groups) > 1:
        st.header("Each group", anchor=False)
        chart(alpha_groups(found, dark=is_dark()), "alpha_groups", "Ranking by RAUQ at every alpha, group by group")
        st.caption("As above, in each group. Bands: 95 % intervals with real attention, some wider than the axis.")


def ablation(chosen: Chosen) -> None:
    """Draw one table of the paper's ablations, in its layout, and on demand the published numbers."""
    found = cache.ablated(chosen.run, chosen.rows, chosen.asked.metric, chosen.table.id)
    rows, title = found.comparison, found.ablation.title
    headline, *within = sentences.comparison_sentences(rows, called="variants")
    sentence(headline, chosen, joined(*within))
    ours = rows.methods.index(RAUQ) if RAUQ in rows.methods else None
    show_table(compared(rows, list(map(name_of, rows.methods))), alt=title, ours=ours)
    caption = joined(
        _USUAL, sentences.intervals_caption(rows), sentences.within_note(rows), sentences.ablation_note(found)
    )
    st.caption(f"① best, ② second of a column. {caption}")
    _take_along(chosen, Table(f"ablation_{found.ablation.id}", title, caption, method_tables.ablation_table(found)))
    chart(method_intervals(rows.methods, rows.headline, metric=rows.metric, dark=is_dark()), "ablation", title)
    published_beside(chosen, (table for table in paper.published_tables() if table.table in found.ablation.published))


def supervised(chosen: Chosen) -> None:
    """Draw the tables of supervised methods, and on demand the published numbers."""
    supervised_tables(chosen)
    published_beside(chosen, (table for table in paper.published_tables() if table.kind == "supervised"))


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name, the function that draws it, its own choice, and whether it uses a metric.

    Of a run with more than `most` answers it uses a sample.
    """

    name: str
    draw: Callable[[Chosen], None]
    choose: Callable[[Chosen], None] | None = None
    metric: bool = False
    figure: bool = True
    most: int = MOST_SAMPLED


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "ranking": _ViewSpec(name="Ranking", draw=ranking, metric=True, most=MOST_RANKED),
        "rejection": _ViewSpec(name="Rejection", draw=rejection, choose=choices.methods_picker),
        "alpha": _ViewSpec(name="Alpha", draw=alpha, choose=choices.signal_switch, metric=True),
        "ablations": _ViewSpec(name="Ablations", draw=ablation, choose=choices.ablation_picker, metric=True),
        "attention": _ViewSpec(name="Does attention matter?", draw=attention, choose=choices.token_switch, metric=True),
        "scores": _ViewSpec(name="Score and quality", draw=scores, choose=choices.method_picker),
        "agreement": _ViewSpec(name="Agreement", draw=agreement, choose=choices.other_picker),
        "errors": _ViewSpec(name="Errors", draw=errors, choose=choices.method_picker, figure=False),
        "supervised": _ViewSpec(name="Supervised", draw=supervised, metric=True),
        "several": _ViewSpec(
            name="Several runs", draw=several_runs, choose=collection.runs_picker, metric=True, figure=False
        ),
    }
)


def empty_state() -> None:
    """Show what the page is for and how to get a run."""
    st.title("Does RAUQ rank answers better than other methods?", anchor=False)
    st.write(
        "This page compares uncertainty methods on a run, a scored set of answers: how well each method ranks the "
        "answers, what it costs, and which parts of RAUQ matter. There is no run here yet."
    )


def show_run(name: str) -> None:
    """Open a run and show the view in the URL."""
    columns = st.columns([3, 1.6, 4.7, 2], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    check_comparable(run.manifest.request)
    asked = run_filters.asked(Asked(), lambda found: fitted(found, run))
    spec = _VIEW_SPECS[asked.view]
    chosen = choose(name, cache.sampled(run, most=spec.most), asked, default_thresholds(run))
    with columns[1]:
        if spec.metric:
            choices.metric_switch(chosen)
    with columns[2]:
        if spec.choose:
            spec.choose(chosen)
    with columns[3]:
        filters(chosen, chosen.asked)
    view_picker({view: one.name for view, one in _VIEW_SPECS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: spec.draw(chosen), chosen, figure=spec.figure)
