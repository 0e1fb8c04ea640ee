"""What a data set is before a run is made of it: its first examples, and every row that was rejected."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from analysis.datasets.example import DataSet, Example, Rejected
from pages.ui.errors import printable
from rauq.labels import lines

_FIRST = 100  # examples; nobody reads more before a run
_LONGEST = 2_000  # characters of a cell
_ROW, _HEAD = 35, 38  # pixels
_SHOWN_ROWS, _SHOWN_REJECTED = 9, 5

_COLUMNS: Mapping[str, Callable[[Example], Any]] = MappingProxyType(
    {
        "id": lambda example: example.id,
        "prompt": lambda example: example.prompt,
        "answer": lambda example: example.answer or "",
        "references": lambda example: " | ".join(example.references),
        "quality": lambda example: example.quality,
        "group": lambda example: example.group,
        "stratum": lambda example: example.stratum,
        "error label": lambda example: example.error_label,
        "facts": lambda example: " | ".join(example.facts),
        "source": lambda example: example.source,
    }
)
# Long texts leave room for what a row is judged by, on a small screen too.
_LONG = ("prompt", "answer", "references", "source", "facts")
_WIDTHS = {name: st.column_config.Column(width=260 if name == "prompt" else 130) for name in _LONG}


def preview(data: DataSet) -> None:
    """Say how many rows are taken and how many are not; show the first ones taken, and all that are not."""
    st.markdown(f"**{_rows(len(data.examples))} accepted, {_rows(len(data.rejected))} rejected.**")
    for note in data.notes:
        st.text(lines(note))
    if data.examples:
        st.dataframe(
            _table(data.examples[:_FIRST]),
            key="preview",
            height=_height(min(len(data.examples), _FIRST), _SHOWN_ROWS),
            hide_index=True,
            column_config=_WIDTHS,
            alt="The first accepted examples",
        )
        if len(data.examples) > _FIRST:
            st.caption(f"The first {_FIRST} are shown.")
    if data.rejected:
        _rejected(data.rejected)


def _rejected(rows: Sequence[Rejected]) -> None:
    table = pd.DataFrame({"row": [row.row for row in rows], "reason": [printable(row.reason) for row in rows]})
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption("Rows that are left out, by their number in the data, and why", width="content")
        st.download_button(
            "Save as CSV",
            partial(table.to_csv, index=False),
            "rejected-rows.csv",
            "text/csv",
            key="save_rejected",
            on_click="ignore",
        )
    st.dataframe(
        table,
        key="rejected",
        height=_height(len(rows), _SHOWN_REJECTED),
        hide_index=True,
        column_config={
            "row": st.column_config.NumberColumn(width="small"),
            "reason": st.column_config.TextColumn(width="large"),
        },
        alt="The rejected rows and their reasons",
    )


def _table(examples: Sequence[Example]) -> pd.DataFrame:
    """A column for everything that at least one of the examples has."""
    columns = {name: [_cell(read(example)) for example in examples] for name, read in _COLUMNS.items()}
    return pd.DataFrame(
        {name: cells for name, cells in columns.items() if any(cell not in {"", None} for cell in cells)}
    )


def _cell(value: Any) -> Any:  # noqa: ANN401 - a text or a number
    if not isinstance(value, str):
        return value
    return printable(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _height(rows: int, most: int) -> int:
    return _HEAD + _ROW * min(rows, most)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
