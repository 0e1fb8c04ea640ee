"""What the URL of the page Answer sets asks for, as far as the run can follow."""

from typing import NamedTuple

import streamlit as st

from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from pages.ui import settings_link, state
from pages.ui.answer_sets.asked import Asked, fitted, read_asked
from pages.ui.links import CORRECT, FILTERS, INCORRECT, LAYER, TOKENS
from pages.ui.of_run import place
from pages.ui.told import put_in_url
from rauq.errors import InvalidInput
from rauq.settings import Settings, window

OF_ONE_RUN = (LAYER, TOKENS, CORRECT, INCORRECT, *FILTERS)


class _Captured(NamedTuple):
    """What settings have to suit: the layers that a run keeps token by token."""

    layers: tuple[int, ...]
    num_layers: int
    num_heads: int


def asked(run: Run, usual: Thresholds) -> Asked:
    """What the URL asks for; what cannot be used is taken out of it, and the user is told."""
    found, wrong = read_asked(st.query_params.to_dict())
    found, unfit = fitted(found, run, usual)
    place.mend((*wrong, *unfit))
    return found


def settings(run: Run) -> Settings:
    """The settings of the URL, as far as the layers that the run keeps can follow them."""
    captured = _Captured(run.stored_layers, run.answerer.num_layers, run.answerer.num_heads)
    found = state.settings(captured)
    if _needs_others(found, run):
        state.notify("This run does not keep all layers token by token: the score looks at the middle ones.")
        put_in_url(settings_link.LAYERS, None)
        return settings(run)
    return found


def _needs_others(settings: Settings, run: Run) -> bool:
    """Whether a rule of layers takes in some that the model has and the run does not keep."""
    if settings.layers not in ("all", "middle_five"):
        return False
    try:
        wanted = window(settings, captured=run.answerer.layers, num_layers=run.answerer.num_layers)
    except InvalidInput:  # the model has none of them: the score says so
        return False
    return not set(wanted) <= set(run.stored_layers)
