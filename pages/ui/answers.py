"""Answers that were generated, read or opened in this app: a session lists its own, a link leads to one by name.

The names cannot be guessed, so a session sees another's answer only through a link that it was given.
"""

import secrets
from collections.abc import Iterable, Mapping

import streamlit as st

from pages.ui import cache
from rauq.trace import Trace

_MINE = "_answers"
_MOST_MINE = 12  # in the list of one session


def keep(trace: Trace) -> str:
    """Remember an answer, and return the name under which `find` gives it back; the oldest of all make room.

    One that is remembered keeps its name: a run that was cut short may have asked for it.
    """
    kept = cache.answers()
    with kept.lock:
        name = next((name for name, known in kept.traces.items() if known is trace), secrets.token_urlsafe(12))
        kept.traces[name] = trace
        while len(kept.traces) > 1 and _size(kept.traces.values()) > cache.MOST_ANSWERS_BYTES:
            kept.traces.popitem(last=False)
    others = [other for other in st.session_state.get(_MINE, []) if other != name]
    st.session_state[_MINE] = [*others, name][-_MOST_MINE:]
    return name


def find(name: str) -> Trace | None:
    """The answer of that name; None where it has made room, or the app was started anew."""
    kept = cache.answers()
    with kept.lock:
        if name in kept.traces:
            kept.traces.move_to_end(name)
        return kept.traces.get(name)


def mine() -> Mapping[str, Trace]:
    """The answers of this session that are still there, the latest first."""
    found = {name: find(name) for name in reversed(st.session_state.get(_MINE, []))}
    return {name: trace for name, trace in found.items() if trace is not None}


def _size(traces: Iterable[Trace]) -> int:
    return sum(array.nbytes for trace in traces for array in (trace.attention, *trace.extras.values()))
