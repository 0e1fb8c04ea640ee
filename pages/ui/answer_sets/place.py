"""What the page Answer sets shows is its URL: read and mended here, written by its controls."""

from typing import NamedTuple

import streamlit as st

from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from pages.ui import runs_at_hand, settings_link, state
from pages.ui.answer_sets.asked import Asked, fitted, read_asked
from pages.ui.links import CORRECT, FILTERS, INCORRECT, LAYER, RUN, TOKENS
from rauq.settings import Settings

PICKER = "answer_set_run"  # the key of the list of runs
_LAST_QUERY = "_answer_sets_query"
_OF_ONE_RUN = (LAYER, TOKENS, CORRECT, INCORRECT, *FILTERS)


class _Captured(NamedTuple):
    """What settings have to suit: the layers that a run keeps token by token."""

    layers: tuple[int, ...]
    num_layers: int
    num_heads: int


def bring_back_url() -> None:
    """A switch of pages empties the URL: bring back what it said when this page was left."""
    if PICKER not in st.session_state and not st.query_params and (last := st.session_state.get(_LAST_QUERY)):
        st.query_params.from_dict(last)


def remember_url() -> None:
    """Keep the URL for `bring_back_url`."""
    st.session_state[_LAST_QUERY] = st.query_params.to_dict()


def run_name() -> str | None:
    """The run that the URL names, else the first one; None where there is none at all."""
    names = runs_at_hand.names()
    name = st.query_params.get(RUN)
    if name is not None and name not in names:
        state.notify("There is no run of that name here." + (" The first one is shown." if names else ""))
        write(RUN, None)
    return name if name in names else next(iter(names), None)


def asked(run: Run, usual: Thresholds) -> Asked:
    """What the URL asks for; what cannot be used is taken out of it, and the user is told."""
    found, wrong = read_asked(st.query_params.to_dict())
    found, unfit = fitted(found, run, usual)
    forget(names := [*wrong, *unfit])
    if names:
        state.notify(f"The link's {' and '.join(dict.fromkeys(names))} cannot be used here: the usual is shown.")
    return found


def settings(run: Run) -> Settings:
    """The settings of the URL, as far as the layers that the run keeps can follow them."""
    captured = _Captured(run.stored_layers, run.answerer.num_layers, run.answerer.num_heads)
    found = state.settings(captured)
    if found.layers == "all" and run.stored_layers != run.answerer.layers:
        state.notify("This run does not keep all layers token by token: the score looks at the middle ones.")
        write(settings_link.LAYERS, None)
        return settings(run)
    return found


def choose_run(name: str) -> None:
    """Go to another run; what was said of the one before goes."""
    write(RUN, name)
    forget(_OF_ONE_RUN)


def write(name: str, value: str | None) -> None:
    """Write a parameter into the URL, or, where it is the usual, take it out."""
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value


def forget(names: tuple[str, ...] | list[str]) -> None:
    """Take parameters out of the URL."""
    for name in names:
        write(name, None)
