"""The paper's tables, and beside them what a run gave here: always said which is which."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from analysis import paper
from analysis.answer_sets.captions import joined
from analysis.evidence import sentences
from analysis.evidence.record import Record
from analysis.methods.sentences import COMPARABLE, published_overheads
from analysis.paper import Published, published_tables
from analysis.report.tables import Table
from analysis.stats import METRICS
from pages.ui import runs_at_hand
from pages.ui.errors import printable
from pages.ui.evidence.asked import PAGE, Asked
from pages.ui.evidence.paper_beside import Beside, beside_paper
from pages.ui.evidence.record_table import headline
from pages.ui.links import PUBLISHED, RUN
from pages.ui.methods.asked import ref
from pages.ui.methods.tables import Column, numbers, show_table, take_along
from pages.ui.of_run import place
from pages.ui.of_run.controls import key_of, put
from pages.ui.told import put_in_url
from rauq.labels import running

_NO_RUN = ""
_PARTS = ("metric", "model", "topic")


def paper_tables(asked: Asked, kept: Mapping[str, Record]) -> None:
    """One table of the paper, chosen by metric, model and topic, with a run beside it on demand."""
    at_hand = published_tables()
    one = next((table for table in at_hand if ref(table) == asked.published), at_hand[0])
    _pickers(at_hand, one, asked.run)
    beside = None if asked.run is None else beside_paper(asked.run, one)
    headline(one.title)
    _draw(one, beside, kept.get("overhead"))


def _pickers(at_hand: Sequence[Published], one: Published, run: str | None) -> None:
    columns = st.columns([1.2, 2, 4, 2.5], gap="small", vertical_alignment="bottom")
    names = {"metric": "Metric", "model": "Model", "topic": "Table"}
    for column, part in zip(columns[:3], _PARTS, strict=True):
        with column:
            _pick(names[part], part, at_hand, one)
    with columns[3]:
        st.session_state[place.picker(PAGE)] = run or _NO_RUN
        st.selectbox(
            "Your run beside it",
            [_NO_RUN, *runs_at_hand.names()],
            key=place.picker(PAGE),
            format_func=lambda name: running(printable(name)) or "none",
            on_change=_choose_run,
        )


def _pick(label: str, part: str, at_hand: Sequence[Published], one: Published) -> None:
    """One part of what tells tables apart; it offers what there is with the parts before it."""
    before = _PARTS[: _PARTS.index(part)]
    fitting = [table for table in at_hand if all(getattr(table, name) == getattr(one, name) for name in before)]
    options = list(dict.fromkeys(getattr(table, part) for table in fitting))
    put(f"published_{part}", getattr(one, part))
    asked: dict[str, Any] = {"key": key_of(f"published_{part}"), "on_change": _choose, "args": (part,)}
    st.selectbox(label, options, format_func=lambda value: METRICS.get(value, value), **asked)


def _choose(changed: str) -> None:
    """The table that has what was chosen, and of the rest as much as can be had."""
    wanted = {part: st.session_state[key_of(f"published_{part}")] for part in _PARTS}
    order = (changed, *(part for part in _PARTS if part != changed))
    found = max(published_tables(), key=lambda one: [getattr(one, part) == wanted[part] for part in order])
    put_in_url(PUBLISHED, ref(found))


def _choose_run() -> None:
    put_in_url(RUN, st.session_state[place.picker(PAGE)] or None)


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
    """What was measured here to set beside the published overhead."""
    return COMPARABLE if overhead is None else f"Measured here with the embedded model: {overhead.finding}"
