"""Answers that links refer to: those generated or opened in this app, and those of runs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.host.store import session_name, store, visitor
from pages.ui.shared import url_state
from pages.ui.shared.url_state import COLOUR, FROM, HEAD, NUMBER, RUN, SAID, TOKEN, WRONG
from rauq.labels import number as written
from rauq.trace.trace import Trace

_MINE = "_answers"
_MOST_MINE = 12  # in the list of one session


def keep(trace: Trace) -> str:
    """Store an answer and return the name by which `find` returns it; the oldest answers are evicted.

    A stored answer keeps its name: an interrupted script run may have asked for it.
    """
    name = store().answers.keep(trace, visitor=visitor(), session=session_name())
    others = [other for other in st.session_state.get(_MINE, []) if other != name]
    st.session_state[_MINE] = [*others, name][-_MOST_MINE:]
    return name


def find(name: str) -> Trace | None:
    """Return the answer of that name; None if evicted, or if the app was restarted."""
    return store().answers.find(name, session=session_name())


def mine() -> Mapping[str, Trace]:
    """Return the answers of this session that are still in memory, the latest first."""
    found = {name: find(name) for name in reversed(st.session_state.get(_MINE, []))}
    return {name: trace for name, trace in found.items() if trace is not None}


_PREFIX = f"{RUN}:"
_OF_ONE_ANSWER = (NUMBER, FROM, HEAD, TOKEN, COLOUR, WRONG, *SAID)


@dataclass(frozen=True, eq=False)
class RunAnswer:
    """An answer of a run; `ref` is its unique reference, `note` describes it."""

    ref: str
    trace: Trace
    note: str


def find_in_run(name: str, number: str) -> RunAnswer | None:
    """Return the answer to example `number` of the run `name`; None if there is no such run or answer.

    Raises:
        RunError: the run, or the part of it that has this answer, cannot be read.
    """
    wanted, folder = url_state.number(number), runs.folder(name)
    if wanted is None or folder is None:
        return None
    from analysis.runs import traces as run_traces  # imports pandas, which only answers of runs need

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
    """Return the answer of a run by its reference."""
    name, _, number = ref.removeprefix(_PREFIX).rpartition(":")
    return find_in_run(name, number) if ref.startswith(_PREFIX) else None


def way_back(query: Mapping[str, str]) -> dict[str, str]:
    """Return the URL parameters of the run view that led to an answer, out of those of Inspect."""
    return {name: value for name, value in query.items() if name not in _OF_ONE_ANSWER}


def _about(facts: np.ndarray) -> str:
    if not facts.size:
        return ""
    return f"; fact token{'' if facts.size == 1 else 's'}: {', '.join(map(str, facts))}"
