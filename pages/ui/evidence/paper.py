"""The paper's tables, with the numbers of a run measured here beside them, always labelled as such."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from analysis import paper
from analysis.answer_sets.sentences import joined
from analysis.collections.published import heads_tables
from analysis.evidence import sentences
from analysis.evidence.record import Record
from analysis.exports.tables import Table
from analysis.methods.ablations import ablations
from analysis.methods.comparison import Comparison, headline_groups, title_of
from analysis.methods.sentences import COMPARABLE, published_overheads
from analysis.paper import Published, published_tables
from analysis.runs.opened import MOST_RANKED, MOST_SAMPLED, Run
from analysis.stats import METRICS, Estimate, in_words
from analysis.views.answer_set import AnswerSet
from analysis.views.methods import RANKING, usual
from analysis.views.variants import ABLATIONS
from pages.ui.evidence.query import PAGE, Asked
from pages.ui.evidence.records import headline
from pages.ui.host import cache, runs
from pages.ui.shared.errors import printable
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.run_views.page import READER, default_thresholds, key_of, open_run, put
from pages.ui.shared.run_views.tables import Column, numbers, show_frame, show_table, take_along
from pages.ui.shared.url_state import PUBLISHED, RUN, update_url
from rauq.labels import running

_WIDTH = 180  # pixels: of a value with its interval
_NOT_COMPUTED = Estimate(np.nan, np.nan, np.nan, n=0, excluded=0, reason="not computed in the run")


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The numbers of a run, one per row of a table; `title` names the answers, `about` the run."""

    estimates: Sequence[Estimate]
    title: str
    about: str

    def column(self) -> Column:
        """Return the numbers with their intervals; a dash where undefined or not computed in the run."""
        words = ["–" if estimate.reason else in_words(estimate) for estimate in self.estimates]
        return Column(
            title=self.title, values=[estimate.value for estimate in self.estimates], words=words, width=_WIDTH
        )

    def cells(self) -> dict[str, list[float]]:
        """Return the numbers and the ends of their intervals, as columns of the exported table."""
        return {
            self.title: [estimate.value for estimate in self.estimates],
            "measured here low": [estimate.low for estimate in self.estimates],
            "measured here high": [estimate.high for estimate in self.estimates],
        }


def beside_paper(name: str, published: Published, methods: Sequence[str]) -> Beside | None:
    """Return the numbers of the run `name` for the methods of a table; None if it has no answers.

    Raises:
        RunError: it cannot be opened.
    """
    run = open_run(name)
    if run is None:
        return None
    with st.spinner("Computing the values of this run …", show_time=True):
        run, found = _compared(run, published)
    group = headline_groups(found.groups)[-1]  # as the paper averages over data sets
    of_run = dict(zip(found.methods, found.of_group(group), strict=True))
    of_sample = "" if run.whole is None else "a seeded sample of "
    return Beside(
        estimates=[of_run.get(method, _NOT_COMPUTED) for method in methods],
        title=f"measured here, {title_of(group)}",
        about=f"Measured here: {of_sample}the run {name}, {len(run.answers):,} answers of {run.answerer.name}",
    )


def _compared(run: Run, published: Published) -> tuple[Run, Comparison]:
    """Compare the methods of the run or, for a table of ablations, the variants computed on the run.

    Of a large run, a sample is compared: the same as on the page Methods.
    """
    metric: Any = published.metric
    table = next((table for table in ablations(run.answerer.layers) if published.table in table.published), None)
    some = cache.sampled(run, most=MOST_RANKED if table is None else MOST_SAMPLED)
    answers = AnswerSet(run=some, rows=np.arange(len(some.answers)), thresholds=default_thresholds(some), reader=READER)
    chosen = replace(usual(some), metric=metric)
    if table is None:
        return some, cache.seen(RANKING, answers, chosen).result.comparison
    return some, cache.seen(ABLATIONS, answers, replace(chosen, table=table.id)).result.comparison


_NO_RUN = ""
_PARTS = ("metric", "model", "topic")


def paper_tables(asked: Asked, overhead: Record | None) -> None:
    """Draw a table of the paper, chosen by metric, model and topic, with a run beside it on demand."""
    at_hand = published_tables()
    one = next((table for table in at_hand if table.ref == asked.published), at_hand[0])
    _pickers(at_hand, one, asked.run)
    frame = paper.published(one.table, one.model)
    beside = None if asked.run is None else beside_paper(asked.run, one, frame["method"].tolist())
    headline(one.title)
    _draw(one, frame, beside, overhead)
    _selected_heads()


def _selected_heads() -> None:
    """Draw the paper's tables of selected heads, folded."""
    folded = st.expander("Published selected heads (Tables 12 and 13)", key="published_heads", on_change="rerun")
    if not folded.open:
        return
    with folded:
        for table in heads_tables():
            st.subheader(table.heading, anchor=False)
            show_frame(table.shown, alt=table.heading)
            st.caption(table.caption)
            take_along(table)


def _pickers(at_hand: Sequence[Published], published: Published, run: str | None) -> None:
    columns = st.columns([1.2, 2, 4, 2.5], gap="small", vertical_alignment="bottom")
    names = {"metric": "Metric", "model": "Model", "topic": "Table"}
    for column, part in zip(columns[:3], _PARTS, strict=True):
        with column:
            _pick(names[part], part, at_hand, published)
    with columns[3]:
        st.session_state[run_filters.picker(PAGE)] = run or _NO_RUN
        st.selectbox(
            "Compare with run",
            [_NO_RUN, *runs.names()],
            key=run_filters.picker(PAGE),
            format_func=lambda name: running(printable(name)) or "none",
            on_change=_choose_run,
        )


def _pick(label: str, part: str, at_hand: Sequence[Published], published: Published) -> None:
    """Draw one part of the choice of a table; it offers what fits the parts before it."""
    before = _PARTS[: _PARTS.index(part)]
    fitting = [table for table in at_hand if all(getattr(table, name) == getattr(published, name) for name in before)]
    options = list(dict.fromkeys(getattr(table, part) for table in fitting))
    put(f"published_{part}", getattr(published, part))
    asked: dict[str, Any] = {"key": key_of(f"published_{part}"), "on_change": _choose, "args": (part,)}
    st.selectbox(label, options, format_func=lambda value: METRICS.get(value, value), **asked)


def _choose(changed: str) -> None:
    """Choose the table that has the part just chosen and as many of the others as possible."""
    wanted = {part: st.session_state[key_of(f"published_{part}")] for part in _PARTS}
    order = (changed, *(part for part in _PARTS if part != changed))
    found = max(published_tables(), key=lambda one: [getattr(one, part) == wanted[part] for part in order])
    update_url({PUBLISHED: found.ref})


def _choose_run() -> None:
    update_url({RUN: st.session_state[run_filters.picker(PAGE)] or None})


def _draw(published: Published, frame: pd.DataFrame, beside: Beside | None, overhead: Record | None) -> None:
    names = frame["published"].tolist()
    values = [name for name in frame if name not in {"method", "published"}]
    columns = [Column(title="published row", values=names, width=285)]
    if beside is not None:
        columns.append(beside.column())
        st.text(printable(running(beside.about)))
        frame = frame.assign(**beside.cells())
    columns += [numbers(name, frame[name].tolist(), places=3) for name in values]
    show_table(columns, alt=published.title, ours=names.index("RAUQ") if "RAUQ" in names else None)
    costs = (published_overheads(), _measured(overhead)) if published.kind == "methods" else ()
    caption = joined(sentences.PUBLISHED, *costs)
    st.caption(caption)
    take_along(Table(f"{published.table}_{published.metric}", published.title, caption, frame))


def _measured(overhead: Record | None) -> str:
    """Return what was measured here to compare with the published overhead."""
    return COMPARABLE if overhead is None else f"Measured here: {overhead.finding}"
