"""The page Methods: one view of a run, of rankings or single answers, below the choices it depends on."""

import math
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

import rauq
from analysis import paper
from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.methods import sentences
from analysis.methods.comparison import RAUQ, Comparison, Paired, name_of
from analysis.paper import Published
from analysis.runs.methods import ASKABLE, about_unknown_methods, check_comparable, options_for
from analysis.runs.opened import MOST_RANKED, MOST_SAMPLED, Run
from analysis.runs.own import row_of
from analysis.runs.timings import Cost
from analysis.views.all_views import OF_METHODS
from analysis.views.methods import AGREEMENT, ERRORS, RANKING
from analysis.views.survival import SURVIVAL
from analysis.views.variants import ABLATIONS, ALPHA, ATTENTION
from analysis.views.view import Picture
from pages.ui.host import cache
from pages.ui.methods import choices, collection
from pages.ui.methods.choices import (
    LISTED,
    OF_ONE_RUN,
    OWN_SCORES,
    PAGE,
    PICKERS,
    SEVERAL,
    SHOWN_AS,
    SUPERVISED,
    Asked,
    Chosen,
    choose,
    fitted,
)
from pages.ui.methods.collection import several_runs
from pages.ui.methods.own_scores import own_scores
from pages.ui.methods.supervised import supervised as supervised_tables
from pages.ui.shared import url_state
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.run_views.page import (
    default_thresholds,
    draw_view,
    filters,
    key_of,
    open_run,
    openable,
    put,
    run_picker,
    write,
)
from pages.ui.shared.run_views.picker import view_picker
from pages.ui.shared.run_views.tables import Column, compared, numbers, show_table
from pages.ui.shared.run_views.views import draw, draw_picture, draw_pictures, draw_tables, save_table, say
from pages.ui.shared.url_state import update_url
from rauq.labels import amount, number, running
from rauq.methods.method import Method

_NONE = ""
_OURS = "RAUQ"
_SIGNS = "① best, ② second of a column."


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
            Column(title="published row", values=rows),
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


def _ranking(chosen: Chosen) -> None:
    """Draw the table, RAUQ minus each other method, and on demand missing methods and published numbers."""
    seen = cache.seen(RANKING, chosen, chosen.choices)
    say(RANKING, seen, chosen)
    ranked, (own, *others) = seen.result, RANKING.tables(seen)
    _methods(ranked.comparison, ranked.costs, own, chosen)
    if ranked.judging is not None:
        st.header(others[0].heading, anchor=False)
        _methods(ranked.judging, ranked.costs, others[0], chosen)
    if (paired := ranked.paired) is not None:
        _differences(paired, RANKING.pictures(seen)[-1], others[-1], chosen)
    missing_methods(chosen.run)
    published_beside(chosen, (one for one in paper.published_tables() if one.kind == "methods"))


def _methods(comparison: Comparison, costs: Sequence[Cost], table: Table, chosen: Chosen) -> None:
    """Draw a table of methods, the best on top, and buttons that save it."""
    own = [cost for cost in costs if cost.method in comparison.methods]
    methods = [comparison.methods[place] for place in comparison.best_first]
    columns = [
        *compared(comparison, list(map(name_of, comparison.methods)), _measured(own)),
        _passes(comparison.methods),
    ]
    show_table(
        [column.at(comparison.best_first) for column in columns],
        alt=f"{table.heading}: how well each ranks the answers, by groups",
        ours=methods.index(RAUQ) if RAUQ in methods else None,
    )
    st.caption(f"{_SIGNS} {table.caption}", help=table.about or None)
    save_table(table, chosen)


def _differences(paired: Paired, picture: Picture, table: Table, chosen: Chosen) -> None:
    """Draw RAUQ minus each other method below what that says, which reports have in the caption."""
    counted, *more = sentences.paired_sentences(paired)
    st.header(counted.removesuffix("."), anchor=False)
    if more:
        st.caption(joined(*more))
    draw_picture(picture._replace(caption=table.caption, about=table.about), chosen)
    draw_tables([table], chosen)


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


def _alpha(chosen: Chosen) -> None:
    """Draw RAUQ from alpha 0 to 1 with other attention, what that says of each alpha, and the same in each group."""
    seen = cache.seen(ALPHA, chosen, chosen.choices)
    say(ALPHA, seen, chosen)
    whole, *groups = ALPHA.pictures(seen)
    draw_picture(whole, chosen)
    draw_tables(ALPHA.tables(seen), chosen)
    if groups:
        st.header("Each group", anchor=False)
        draw_pictures(groups, chosen)


def _agreement(chosen: Chosen) -> None:
    """Draw the answers on which RAUQ and another method disagree most, and the agreement of all methods."""
    seen = cache.seen(AGREEMENT, chosen, chosen.choices)
    say(AGREEMENT, seen, chosen)
    apart, *others = AGREEMENT.tables(seen)
    openable(apart.frame, apart.name, chosen, apart.caption, height=560)
    draw_pictures(AGREEMENT.pictures(seen), chosen)
    draw_tables(others, chosen)


def _ablations(chosen: Chosen) -> None:
    """Draw one table of the paper's ablations, in its layout, and on demand the published numbers."""
    seen = cache.seen(ABLATIONS, chosen, chosen.choices)
    say(ABLATIONS, seen, chosen)
    rows, ablation = seen.result.comparison, seen.result.ablation
    ours = rows.methods.index(RAUQ) if RAUQ in rows.methods else None
    show_table(compared(rows, list(map(name_of, rows.methods))), alt=ablation.title, ours=ours)
    (table,), (picture,) = ABLATIONS.tables(seen), ABLATIONS.pictures(seen)
    st.caption(f"{_SIGNS} {table.caption}", help=table.about or None)
    save_table(table, chosen)
    draw_picture(picture._replace(caption="", about=""), chosen)
    published_beside(chosen, (one for one in paper.published_tables() if one.table in ablation.published))


def _survival(chosen: Chosen) -> None:
    """Draw what is left of a method; for RAUQ, a way to its attention replaced, in every group."""
    draw(SURVIVAL, chosen, chosen.choices)
    if chosen.choices.method == RAUQ:
        _other_view("Replace the attention, group by group", ATTENTION.id)


def _attention(chosen: Chosen) -> None:
    """Draw RAUQ with its attention replaced."""
    _other_view("Back to all controls", SURVIVAL.id)
    draw(ATTENTION, chosen, chosen.choices)


def _other_view(label: str, view: str) -> None:
    st.button(label, key="other_view", type="tertiary", on_click=update_url, args=({url_state.VIEW: view},))


def _supervised(chosen: Chosen) -> None:
    """Draw the tables of supervised methods, and on demand the published numbers."""
    supervised_tables(chosen)
    published_beside(chosen, (table for table in paper.published_tables() if table.kind == "supervised"))


_OWN = MappingProxyType[str, Callable[[Chosen], None]](
    {
        RANKING.id: _ranking,
        ALPHA.id: _alpha,
        ABLATIONS.id: _ablations,
        AGREEMENT.id: _agreement,
        SURVIVAL.id: _survival,
        ATTENTION.id: _attention,
        SUPERVISED: _supervised,
        SEVERAL: several_runs,
        OWN_SCORES: own_scores,
    }
)
"""Views with more than their figures and tables."""
_BY_ID = MappingProxyType({view.id: view for view in OF_METHODS})
_WITHOUT_FIGURE = (ERRORS.id, SEVERAL, OWN_SCORES)


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
    most = MOST_RANKED if asked.view == RANKING.id else MOST_SAMPLED
    chosen = choose(name, cache.sampled(run, most=most), asked, default_thresholds(run))
    _controls(columns[1:], chosen)
    view_picker(LISTED, SHOWN_AS[asked.view], usual=Asked().view)
    draw_view(lambda: _draw(chosen), chosen, figure=asked.view not in _WITHOUT_FIGURE)


def _draw(chosen: Chosen) -> None:
    view = chosen.asked.view
    if view in _OWN:
        _OWN[view](chosen)
    else:
        draw(_BY_ID[view], chosen, chosen.choices)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen) -> None:
    """Draw the fields that the view needs, and the filters."""
    if chosen.asked.view == OWN_SCORES:
        return  # none of them matters for a file
    view = _BY_ID.get(chosen.asked.view)
    needs = view.needs if view else {"metric"}
    with columns[0]:
        if "metric" in needs:
            choices.metric_switch(chosen)
    with columns[1]:
        for need in needs & set(PICKERS):
            PICKERS[need](chosen)
        if chosen.asked.view == SEVERAL:
            collection.runs_picker(chosen)
    with columns[2]:
        filters(chosen, chosen.asked)
