"""The tab From clients: the answers that clients of the endpoint beside this app got, each a link to its picture."""

import math
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args
from urllib.parse import urljoin

import streamlit as st

from pages.ui.host.clients import HOUR, ClientAnswer, ClientAnswers
from pages.ui.host.kept import MOST_ANSWERS_BYTES
from pages.ui.host.store import store
from pages.ui.runs import query
from pages.ui.shared.errors import printable
from rauq.labels import number, running, shortened, size
from rauq.trace.trace import Trace

Order = Literal["Latest first", "Most uncertain first"]
_TAB, _ORDER, _UNTIL, _ROWS = "list_of_runs", "clients_order", "_clients_until", "_clients_rows"
_TABS: Mapping[bool, str] = MappingProxyType({False: "Data sets", True: "From clients"})
_EVERY = 2.0  # seconds between two checks for newer answers
_STEP = 50  # rows that are shown at first, and that a click adds
_LONGEST = 90  # characters of a prompt, and of an answer
_ENDINGS: Mapping[str, str] = MappingProxyType(
    {"length": "at its limit", "time": "at its time limit", "alarm": "by an alarm"}
)


def tabs() -> None:
    """Draw the choice between runs and answers of clients, where an endpoint stands beside the app."""
    if store().clients is None:
        return
    st.session_state[_TAB] = query.is_from_clients()
    st.segmented_control(
        "List",
        list(_TABS),
        key=_TAB,
        required=True,
        format_func=_TABS.__getitem__,
        on_change=_change_tab,
        label_visibility="collapsed",
    )


def _change_tab() -> None:
    query.show_clients(st.session_state[_TAB])


def from_clients(clients: ClientAnswers) -> None:
    """Draw the answers. Newer ones are shown when the user asks for them, so that no row moves under the pointer."""
    _show_all()
    st.fragment(_listing, run_every=_EVERY)(clients)


def _listing(clients: ClientAnswers) -> None:
    answers = clients.latest()
    if not answers:
        _first_use()
        return
    shown = [answer for answer in answers if answer.at <= st.session_state[_UNTIL]]
    if not shown:
        _show_all()
        shown = answers
    st.caption(_about(clients, len(answers)))
    _bar(newer=len(answers) - len(shown))
    rows = st.session_state.get(_ROWS, _STEP)
    for answer in _ordered(shown)[:rows]:
        _row(answer)
    if (rest := len(shown) - rows) > 0:
        st.button(f"Show {min(rest, _STEP)} more", key="more_answers", on_click=_show_more, args=(rows,))


def _show_more(rows: int) -> None:
    st.session_state[_ROWS] = rows + _STEP


def _first_use() -> None:
    """Say what is shown here, and how a client is told where the endpoint is."""
    st.write("No client has asked yet. Answers appear here, each with a link to its picture:")
    address = urljoin(st.context.url or "", "/v1")
    st.code(f'from openai import OpenAI\n\nclient = OpenAI(base_url="{address}", api_key="none")', language="python")


def _about(clients: ClientAnswers, count: int) -> str:
    kept = f"{count:,} in memory, at most {clients.most:,} or {size(MOST_ANSWERS_BYTES)}"
    return (
        f"Answers that clients got: {kept}, for {clients.seconds / HOUR:g} h. The number of each is "
        "RAUQ's uncertainty in nats, with the settings of the server; the higher, the less certain."
    )


def _bar(*, newer: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.segmented_control(
            "Order",
            get_args(Order),
            key=_ORDER,
            default=get_args(Order)[0],
            required=True,
            label_visibility="collapsed",
        )
        label = f"Show {newer:,} newer answer{'' if newer == 1 else 's'}" if newer else "No newer answers"
        st.button(label, key="newer_answers", disabled=not newer, on_click=_show_all)


def _show_all() -> None:
    st.session_state[_UNTIL] = time.time()


def _ordered(answers: Sequence[ClientAnswer]) -> list[ClientAnswer]:
    if st.session_state.get(_ORDER) != "Most uncertain first":
        return list(answers)
    return sorted(answers, key=lambda answer: math.inf if answer.uncertainty is None else -answer.uncertainty)


def _row(answer: ClientAnswer) -> None:
    with st.container(border=True, key=f"client-{answer.name}"):
        value, texts, when, way = st.columns([2, 9, 3, 2], vertical_alignment="center", gap="small")
        value.text("no score" if answer.uncertainty is None else number(answer.uncertainty, places=2))
        with texts, st.container(key=f"name-{answer.name}", gap=None):
            st.text(_short(answer.trace.prompt))
            st.text(_short(answer.text))
        ended = f", ended {_ENDINGS[answer.ending]}" if answer.ending in _ENDINGS else ""
        when.caption(f"{_clock(answer.at)} UTC, {_tokens(answer.trace)}{ended}")
        way.page_link("pages/inspect.py", label="Inspect", icon=":material/search:", query_params=answer.query)


def _tokens(trace: Trace) -> str:
    count = len(trace.answer_ids)
    return f"{count:,} token{'' if count == 1 else 's'}"


def _short(text: str) -> str:
    return shortened(running(printable(text[: 2 * _LONGEST])), longest=_LONGEST) or "(empty)"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(at))
