"""The view of several runs: that of the page and others beside it, in the paper's tables over models and data sets."""

from typing import Any

import streamlit as st

from analysis.collections.ablated import TABLES, ablation_layout
from analysis.collections.collection import Collection, RankedCollection, overview
from analysis.collections.layouts import COLLECTION, Layout, headline, latex_layout, layouts, means_of_groups
from analysis.collections.published import contradictions_caption, heads_tables, published_beside
from analysis.exports.csv_text import csv_table
from analysis.methods.comparison import RAUQ, name_of
from pages.ui.host import cache, runs
from pages.ui.methods.choices import Chosen
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.run_views.page import key_of, put, save, write
from pages.ui.shared.run_views.tables import Column, show_frame, show_table, take_along
from pages.ui.shared.url_state import by_the_user, update_url, written_names
from rauq.errors import RunError
from rauq.labels import running

_ABLATION = "ablation_"
_FILTERED = "Filters hold for the other views: here every answer of every run counts."
_ANOTHER = "This needs a second run, of another model or on other data"


def runs_picker(chosen: Chosen) -> None:
    """Choose the runs beside that of the page."""
    put(url_state.BESIDE, list(_others(chosen)))
    st.multiselect(
        "Other runs",
        [name for name in runs.names() if name != chosen.name],
        key=key_of(url_state.BESIDE),
        placeholder="Choose runs to compare with",
        on_change=_write_beside,
    )


@by_the_user
def _write_beside() -> None:
    names = tuple(st.session_state[key_of(url_state.BESIDE)])
    update_url({url_state.BESIDE: written_names(names) if names else None})


def _others(chosen: Chosen) -> tuple[str, ...]:
    return tuple(name for name in chosen.asked.beside if name != chosen.name)


def several_runs(chosen: Chosen) -> None:
    """Draw one table of these runs, chosen among all that the paper's layouts give."""
    places = [_folder(name) for name in (chosen.name, *_others(chosen))]
    collection = cache.collection(tuple(places))
    intervals = chosen.asked.intervals == "yes"
    ranked = cache.ranked_collection(tuple(places), chosen.asked.metric, intervals=intervals)
    if _others(chosen):
        found = headline(ranked.methods, means_of_groups(collection, ranked), ranked.metric)
        st.header(printable(found), anchor=False)
    else:
        _ask_for_another()
    st.text(printable(running(overview(collection))))
    if len(chosen.rows) < len(chosen.run.answers):
        st.caption(_FILTERED)
    _table(chosen, collection, ranked, tuple(places))


def _ask_for_another() -> None:
    """Say what makes this view useful: a run to choose, or where runs are made and imported."""
    st.header(_ANOTHER, anchor=False)
    if len(runs.names()) > 1:
        st.caption("Choose it in *Other runs*. Until then this run stands alone, beside the paper's numbers.")
        return
    st.page_link(
        "pages/runs.py", label="Make a run, or import one", icon=":material/add:", query_params={url_state.VIEW: "new"}
    )


def _folder(name: str) -> str:
    folder = runs.folder(name)
    if folder is None:
        message = f"Run {name} not found. Choose other runs."
        raise RunError(message)
    return str(folder)


def _table(chosen: Chosen, collection: Collection, ranked: RankedCollection, places: tuple[str, ...]) -> None:
    """Draw the choice among all tables, and the one that is chosen."""
    metric = ranked.metric
    made = {
        one.name.removesuffix(f"_{metric}"): one
        for one in (*layouts(collection, ranked), *published_beside(collection, ranked))
    }
    heads = {one.name: one for one in heads_tables()}
    ablations = {f"{_ABLATION}{table.id}": f"Ablation: {table.title.lower()}" for table in TABLES}
    titles = {
        **{name: one.heading for name, one in made.items()},
        **ablations,
        **{name: one.heading for name, one in heads.items()},
    }
    wanted = chosen.asked.layout if chosen.asked.layout in titles else next(iter(titles))
    _pickers(titles, wanted, chosen)
    if wanted in heads:
        show_frame(heads[wanted].shown, alt=heads[wanted].heading)
        st.caption(heads[wanted].caption)
        take_along(heads[wanted])
    elif wanted in made:
        _show(made[wanted], contradictions_caption() if wanted.startswith("published") else COLLECTION)
    else:
        scored = cache.ablated_collection(places)
        table = next(one for one in TABLES if f"{_ABLATION}{one.id}" == wanted)
        _show(ablation_layout(table, scored[table.id], metric, intervals=ranked.intervals), COLLECTION)


def _pickers(titles: dict[str, str], wanted: str, chosen: Chosen) -> None:
    first = next(iter(titles))
    columns = st.columns([4, 2, 4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        put(url_state.LAYOUT, wanted)
        options: dict[str, Any] = {
            "key": key_of(url_state.LAYOUT),
            "on_change": write,
            "args": (url_state.LAYOUT, first),
        }
        st.selectbox("Table", list(titles), format_func=lambda name: printable(running(titles[name])), **options)
    with columns[1]:
        put(url_state.INTERVALS, chosen.asked.intervals == "yes")
        st.toggle("95 % intervals", key=key_of(url_state.INTERVALS), on_change=_write_intervals)


@by_the_user
def _write_intervals() -> None:
    update_url({url_state.INTERVALS: "yes" if st.session_state[key_of(url_state.INTERVALS)] else None})


def _show(layout: Layout, more: str) -> None:
    """Draw a table with its notes, and buttons that save it."""
    cells = list(zip(*layout.cells, strict=True))
    columns = [
        Column(
            title=f"{one.top} · {one.title}" if one.title else one.top,
            # An undefined number is drawn as a dash: where cells give their reason, they are all texts.
            values=[
                cell.words if layout.reasons else estimate.value
                for cell, estimate in zip(column, one.estimates, strict=True)
            ],
            words=[cell.words for cell in column],
            marks=[cell.mark for cell in column],
        )
        for one, column in zip(layout.columns, cells, strict=True)
    ]
    ours = layout.rows.index(name_of(RAUQ)) if name_of(RAUQ) in layout.rows else None
    show_table([Column(title=layout.first, values=list(layout.rows)), *columns], alt=layout.heading, ours=ours)
    signs = "① best, ② second of a column. " if layout.is_marked else ""
    st.caption(printable(running(f"{signs}{layout.caption} {more}")))
    st.text(printable("\n".join(map(running, layout.notes))))
    with st.container(horizontal=True, vertical_alignment="center"):
        save("Table as CSV", f"{layout.name}.csv", lambda: csv_table(layout.frame))
        save("Table as LaTeX", f"{layout.name}.tex", lambda: latex_layout(layout))
