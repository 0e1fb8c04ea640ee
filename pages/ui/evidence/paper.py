"""The paper's tables, with the numbers of a run measured here beside them, always labelled as such."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from analysis import paper
from analysis.answer_sets.sentences import joined
from analysis.evidence import sentences
from analysis.evidence.record import Record
from analysis.methods.ablations import ablations
from analysis.methods.comparison import Comparison
from analysis.methods.sentences import COMPARABLE, published_overheads
from analysis.paper import Published, published_tables
from analysis.report.tables import Table
from analysis.runs.opened import Run
from analysis.stats import METRICS, Estimate, in_words
from pages.ui.evidence.query import PAGE, Asked
from pages.ui.evidence.records import headline
from pages.ui.host import cache, runs
from pages.ui.shared import run_filters
from pages.ui.shared.errors import printable
from pages.ui.shared.run_page import key_of, open_run, put
from pages.ui.shared.tables import Column, numbers, show_table, take_along
from pages.ui.shared.url_state import PUBLISHED, RUN, update_url
from rauq.labels import running

_WIDTH = 180  # pixels: of a value with its interval


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The numbers of the table's methods, by id; `over` names the answers, `about` the run."""

    estimates: Mapping[str, Estimate]
    over: str
    about: str

    def column(self, methods: Sequence[str]) -> Column:
        """Return one number per row of the table; a dash for methods not computed in the run."""
        found = [self.estimates.get(method) for method in methods]
        words = ["–" if one is None or one.reason else in_words(one) for one in found]
        return Column(title=f"measured here, {self.over}", values=self._values(methods), words=words, width=_WIDTH)

    def cells(self, methods: Sequence[str]) -> dict[str, list[float]]:
        """Return the numbers with their intervals, as columns of the exported table."""
        found = [self.estimates.get(method) for method in methods]
        ends = {
            f"measured here {end}": [np.nan if one is None else float(getattr(one, end)) for one in found]
            for end in ("low", "high")
        }
        return {f"measured here, {self.over}": self._values(methods)} | ends

    def _values(self, methods: Sequence[str]) -> list[float]:
        return [self.estimates[method].value if method in self.estimates else np.nan for method in methods]


def beside_paper(name: str, one: Published) -> Beside | None:
    """Return the numbers of the run `name` for the methods of a table; None if it has no answers.

    Raises:
        RunError: it cannot be opened.
    """
    run = open_run(name)
    if run is None:
        return None
    found = _compared(run, one)
    return Beside(
        estimates=dict(zip(found.methods, found.overall, strict=True)),
        over="mean of groups" if len(found.groups) > 1 else "all answers",
        about=f"Measured here: the run {name}, {len(run.answers):,} answers of {run.answerer.name}",
    )


def _compared(run: Run, one: Published) -> Comparison:
    """Compare the methods of the run or, for a table of ablations, the variants computed on the run."""
    rows = np.arange(len(run.answers))
    metric: Any = one.metric
    for table in ablations(run.answerer.layers):
        if one.table in table.published:
            return cache.ablated(run, rows, metric, table.id).comparison
    return cache.comparison(run, rows, metric)


_NO_RUN = ""
_PARTS = ("metric", "model", "topic")


def paper_tables(asked: Asked, overhead: Record | None) -> None:
    """Draw a table of the paper, chosen by metric, model and topic, with a run beside it on demand."""
    at_hand = published_tables()
    one = next((table for table in at_hand if table.ref == asked.published), at_hand[0])
    _pickers(at_hand, one, asked.run)
    beside = None if asked.run is None else beside_paper(asked.run, one)
    headline(one.title)
    _draw(one, beside, overhead)


def _pickers(at_hand: Sequence[Published], one: Published, run: str | None) -> None:
    columns = st.columns([1.2, 2, 4, 2.5], gap="small", vertical_alignment="bottom")
    names = {"metric": "Metric", "model": "Model", "topic": "Table"}
    for column, part in zip(columns[:3], _PARTS, strict=True):
        with column:
            _pick(names[part], part, at_hand, one)
    with columns[3]:
        st.session_state[run_filters.picker(PAGE)] = run or _NO_RUN
        st.selectbox(
            "Compare with run",
            [_NO_RUN, *runs.names()],
            key=run_filters.picker(PAGE),
            format_func=lambda name: running(printable(name)) or "none",
            on_change=_choose_run,
        )


def _pick(label: str, part: str, at_hand: Sequence[Published], one: Published) -> None:
    """Draw one part of the choice of a table; it offers what fits the parts before it."""
    before = _PARTS[: _PARTS.index(part)]
    fitting = [table for table in at_hand if all(getattr(table, name) == getattr(one, name) for name in before)]
    options = list(dict.fromkeys(getattr(table, part) for table in fitting))
    put(f"published_{part}", getattr(one, part))
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


def _draw(one: Published, beside: Beside | None, overhead: Record | None) -> None:
    frame = paper.published(one.table, one.model)
    methods, names = frame["method"].tolist(), frame["published"].tolist()
    values = [name for name in frame if name not in {"method", "published"}]
    columns = [Column(title="published row", values=names, width=285)]
    if beside is not None:
        columns.append(beside.column(methods))
        st.text(printable(running(beside.about)))
        frame = frame.assign(**beside.cells(methods))
    columns += [numbers(name, frame[name].tolist(), places=3) for name in values]
    show_table(columns, alt=one.title, ours=names.index("RAUQ") if "RAUQ" in names else None)
    costs = (published_overheads(), _measured(overhead)) if one.kind == "methods" else ()
    caption = joined(sentences.PUBLISHED, *costs)
    st.caption(caption)
    take_along(Table(f"{one.table}_{one.metric}", one.title, caption, frame))


def _measured(overhead: Record | None) -> str:
    """Return what was measured here to compare with the published overhead."""
    return COMPARABLE if overhead is None else f"Measured here with the embedded model: {overhead.finding}"
