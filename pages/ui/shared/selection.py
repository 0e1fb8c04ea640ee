"""What is selected in the linked views, and its place in the URL.

A layer, a head or a token stands in the URL only once the user has chosen it; until then the views show the layer
that decided and the head that was picked in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import streamlit as st

from pages.ui.shared import url_state
from pages.ui.shared.state import notify
from pages.ui.shared.url_state import COLOUR, HEAD, LAYER, SELECTED, TOKEN, WRONG, update_url
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

COLOURS = ("collapse", "contribution", "entropy", "probability")
_HEARD, _SERIAL = "_heard", "_serial"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What the user has chosen: an absolute layer, a head, an answer token, what colours the tokens; None where not."""

    layer: int | None = None
    head: int | None = None
    token: int | None = None
    colour: str | None = None


def chosen(trace: Trace) -> Chosen:
    """The selection of the URL, brought into the range of the answer; the user is told where it was not."""
    asked = {name: url_state.number(st.query_params.get(name, "")) for name in SELECTED}
    allowed = {LAYER: trace.layers, HEAD: range(trace.num_heads), TOKEN: range(len(trace.pieces))}
    found = {name: None if value is None else nearest(allowed[name], value) for name, value in asked.items()}
    colour = st.query_params.get(COLOUR)
    if wrong := [name for name in SELECTED if found[name] != asked[name]]:
        notify(f"This answer has no such {' or '.join(wrong)}: the nearest is shown.")
    unread = [name for name in SELECTED if name in st.query_params and found[name] is None]
    unread += [COLOUR] if colour not in {None, *COLOURS} else []
    if unread:
        notify(f"The link's {' and '.join(unread)} cannot be used: left out.")
    selected = Chosen(**found, colour=colour if colour in COLOURS else None)
    write(selected)
    return selected


def layer_and_head(selected: Chosen, score: Score) -> tuple[int, int]:
    """The layer and the head that the views show: the chosen ones, else the deciding layer and its picked head."""
    layer = selected.layer
    if layer is None:
        layer = score.layers[0] if score.layer is None else score.layer
    picked = int(score.heads[score.layers.index(layer)]) if layer in score.layers else 0
    return layer, max(picked, 0) if selected.head is None else selected.head


def hear(told: Mapping[str, Any], trace: Trace) -> None:
    """Take over what was selected and marked as wrong in the browser, which knows it already."""
    selected = Chosen(**{field.name: told[field.name] for field in fields(Chosen)})
    wrong = tuple(told["wrong"])
    st.session_state[_HEARD] = (selected, wrong)
    write(selected)
    if wrong == trace.wrong:
        st.query_params.pop(WRONG, None)
    else:
        st.query_params[WRONG] = url_state.written_wrong(wrong)


def serial(selected: Chosen, wrong: tuple[int, ...]) -> int:
    """A number that changes when selection or marks came from elsewhere than the views, which then take them over."""
    if st.session_state.get(_HEARD) != (selected, wrong):
        st.session_state[_HEARD] = (selected, wrong)
        st.session_state[_SERIAL] = st.session_state.get(_SERIAL, 0) + 1
    return int(st.session_state.get(_SERIAL, 0))


def write(selected: Chosen) -> None:
    """Write a selection into the URL."""
    update_url({name: None if value is None else str(value) for name, value in asdict(selected).items()})


def nearest(allowed: Sequence[int], asked: int) -> int:
    """The allowed number closest to the one that was asked for."""
    return min(allowed, key=lambda number: abs(number - asked))
