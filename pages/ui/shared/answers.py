"""Answers that links lead to: those made or opened in this app, and those of runs."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.url_state import COLOUR, FROM, HEAD, NUMBER, RUN, TOKEN, WRONG
from rauq.labels import number as written
from rauq.trace.trace import Trace

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


_PREFIX = f"{RUN}:"
_OF_ONE_ANSWER = (NUMBER, FROM, HEAD, TOKEN, COLOUR, WRONG)


@dataclass(frozen=True, eq=False)
class RunAnswer:
    """An answer of a run; `ref` names it among all answers, `note` says what is known of it."""

    ref: str
    trace: Trace
    note: str


def find_in_run(name: str, number: str) -> RunAnswer | None:
    """The answer to the example `number` of the run `name`; None where there is no such run or answer.

    Raises:
        RunError: the run, or the part of it that has this answer, cannot be read.
    """
    wanted, folder = url_state.number(number), runs.folder(name)
    if wanted is None or folder is None:
        return None
    from analysis.runs import traces as run_traces  # and pandas with it, only for those who look into a run

    run = cache.run(folder)
    rows = np.flatnonzero(run.answers["number"] == wanted)
    if not rows.size:
        return None
    row = int(rows[0])
    quality = float(run.answers["quality"].iloc[row])
    facts = np.flatnonzero(run_traces.fact_tokens(run, row))
    note = f"Answer {wanted} of the run {name}; quality {written(quality, places=2)}{_about(facts)}."
    return RunAnswer(ref=f"{_PREFIX}{name}:{wanted}", trace=run_traces.trace(run, row), note=note)


def find_by_ref(ref: str) -> RunAnswer | None:
    """The same by the name that it has among all answers."""
    name, _, number = ref.removeprefix(_PREFIX).rpartition(":")
    return find_in_run(name, number) if ref.startswith(_PREFIX) else None


def way_back(query: Mapping[str, str]) -> dict[str, str]:
    """URL parameters of the view of a run that led to an answer, out of those of Inspect."""
    return {name: value for name, value in query.items() if name not in _OF_ONE_ANSWER}


def _about(facts: np.ndarray) -> str:
    if not facts.size:
        return ""
    return f"; the fact stands at token{'' if facts.size == 1 else 's'} {', '.join(map(str, facts))}"
