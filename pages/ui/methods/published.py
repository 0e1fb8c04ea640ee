"""The paper's numbers, on demand, and always said to be published: of other models, on other data."""

from collections.abc import Iterable
from typing import Any

import streamlit as st

from analysis import paper
from analysis.answer_sets.captions import joined
from analysis.methods import sentences
from analysis.paper import Published
from pages.ui import links
from pages.ui.methods.asked import ref
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.tables import Column, numbers, show_table
from pages.ui.of_run.controls import key_of, put, write

_NONE = ""
_OURS = "RAUQ"


def published_beside(chosen: Chosen, tables: Iterable[Published]) -> None:
    """A choice of the paper's tables, none at first, and the one that was chosen."""
    at_hand = {ref(one): one for one in tables if one.metric == chosen.asked.metric}
    if not at_hand:
        return
    wanted = chosen.asked.published if chosen.asked.published in at_hand else _NONE
    put(links.PUBLISHED, wanted)
    options: dict[str, Any] = {"key": key_of(links.PUBLISHED), "on_change": write, "args": (links.PUBLISHED, _NONE)}
    st.selectbox(
        "Beside the published numbers",
        [_NONE, *at_hand],
        format_func=lambda ref: at_hand[ref].title if ref else "not shown",
        width=620,
        **options,
    )
    if wanted:
        _show(at_hand[wanted])


def _show(one: Published) -> None:
    frame = paper.published(one.table, one.model)
    columns = [name for name in frame if name not in {"method", "published"}]
    rows = frame["published"].tolist()
    show_table(
        [
            Column(title="published row", values=rows, width=285),
            *(numbers(name, frame[name].tolist(), places=3) for name in columns),
        ],
        alt=one.title,
        ours=rows.index(_OURS) if _OURS in rows else None,
    )
    st.caption(joined(sentences.published_note(), *_overheads(one)))


def _overheads(one: Published) -> tuple[str, ...]:
    """The published cost, which stands beside tables of methods alone."""
    return (sentences.published_overheads(), sentences.COMPARABLE) if one.kind == "methods" else ()
