"""What is selected in the linked views, and its place in the URL.

A layer, a head, a token or a passage is in the URL only once the user has chosen it; until then the views show what
they open on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, get_args

import streamlit as st

from pages.ui.shared import url_state
from pages.ui.shared.state import notify
from pages.ui.shared.url_state import HEAD, LAYER, PASSAGE, SELECTED, TOKEN, WRONG, Number, one_of, update_url
from rauq.trace.prompt_parts import is_document
from rauq.trace.trace import Trace

Colour = Literal["collapse", "contribution", "entropy", "probability", "document"]
COLOURS: tuple[Colour, ...] = get_args(Colour)
_HEARD, _SERIAL = "_heard", "_serial"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What the user has chosen: an absolute layer, a head, a token, a passage of the documents, a colouring.

    None if not chosen.
    """

    layer: Number = None
    head: Number = None
    token: Number = None
    passage: Number = None
    colour: Annotated[str | None, one_of(COLOURS)] = None


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What the browser reports: the answer that it has drawn, what is selected there, and the incorrect tokens."""

    answer: str
    layer: int | None
    head: int | None
    token: int | None
    passage: int | None
    colour: Colour | None
    wrong: tuple[int, ...]


def chosen(trace: Trace) -> Chosen:
    """Return the selection in the URL, clipped to the range of the answer; the user is told of each change."""
    asked, unread = url_state.read(st.query_params.to_dict(), Chosen())
    allowed = {
        LAYER: trace.layers,
        HEAD: range(trace.num_heads),
        TOKEN: range(len(trace.pieces)),
        PASSAGE: _passages(trace),
    }
    given = {name: getattr(asked, name) for name in SELECTED if getattr(asked, name) is not None}
    found: dict[str, Any] = {
        name: nearest(allowed[name], number) if allowed[name] else None for name, number in given.items()
    }
    if wrong := [name for name in given if found[name] != given[name]]:
        notify(f"Out of range in the link: {' and '.join(wrong)}. The nearest is shown, if there is one.")
    if unread:
        notify(f"The link's {' and '.join(unread)} cannot be read and was ignored.")
    selected = replace(asked, **found)
    write(selected)
    return selected


def store_selection(event: Selected, trace: Trace) -> Chosen:
    """Write what was selected or marked as incorrect in the browser into the URL; the browser has drawn it already.

    Return what was selected before, as far as this session knows: the URL of this script run may be an older one.
    """
    selected = Chosen(**{field.name: getattr(event, field.name) for field in fields(Chosen)})
    wrong = event.wrong
    before = st.session_state.get(_HEARD, (Chosen(), ()))
    st.session_state[_HEARD] = (selected, wrong)
    marks = {WRONG: None if wrong == trace.wrong else url_state.written_wrong(wrong)}
    update_url(url_state.written(selected, Chosen()) | marks, again=(selected, wrong) != before)
    return before[0]


def serial(selected: Chosen, wrong: tuple[int, ...]) -> int:
    """Return a number that changes when selection or marks come from outside the views, which then adopt them."""
    if st.session_state.get(_HEARD) != (selected, wrong):
        st.session_state[_HEARD] = (selected, wrong)
        st.session_state[_SERIAL] = st.session_state.get(_SERIAL, 0) + 1
    return int(st.session_state.get(_SERIAL, 0))


def write(selected: Chosen) -> None:
    """Write a selection to the URL."""
    update_url(url_state.written(selected, Chosen()))


def nearest(allowed: Sequence[int], asked: int) -> int:
    """Return the allowed number closest to `asked`."""
    return min(allowed, key=lambda number: abs(number - asked))


def _passages(trace: Trace) -> range:
    """The passages of the documents, where it is known how much the answer attends to each."""
    is_known = trace.part_texts and "part_shares" in trace.extras
    return range(sum(is_document(part.name) for part in trace.prompt_parts) if is_known else 0)
