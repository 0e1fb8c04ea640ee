"""What the URL of the page Answer sets asks for, as far as the run can follow."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import streamlit as st

from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui.shared import run_filters, state, url_state
from pages.ui.shared.run_filters import NUMBER_PATTERN, Filters, ReadAsked, groups, marks_facts, read
from pages.ui.shared.url_state import CORRECT, COUNT, FILTERS, GROUP, INCORRECT, LAYER, OFFSET, TOKENS, VIEW, put_in_url
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings, window

View = Literal["best", "gap", "bins", "further", "picked", "separation", "meaning", "answers"]
MOST_ROWS = 50  # best and worst answers, of each

_QUALITY = re.compile(NUMBER_PATTERN, re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown; a layer of None is the middle one, thresholds of None are those of the run's measure."""

    view: View = "gap"
    layer: int | None = None
    tokens: TokenChoice = "all"
    offset: int = 1
    k: int = 10
    above: float | None = None
    below: float | None = None
    filters: Filters = field(default_factory=Filters)


def read_asked(query: Mapping[str, str]) -> ReadAsked[Asked]:
    """What the parameters of a URL ask for, whatever run it is of."""
    return read(query, _PARSERS, Asked)


def fitted(asked: Asked, run: Run, usual: Thresholds) -> ReadAsked[Asked]:
    """The same as far as the run can follow: layers, groups and tokens that it lacks give way to the usual."""
    wrong = []
    if asked.layer is not None and asked.layer not in run.answerer.layers:
        wrong.append(LAYER)
        asked = replace(asked, layer=None)
    if asked.tokens != "all" and not marks_facts(run):
        wrong.append(TOKENS)
        asked = replace(asked, tokens="all")
    if asked.filters.group is not None and asked.filters.group not in groups(run):
        wrong.append(GROUP)
        asked = replace(asked, filters=replace(asked.filters, group=None))
    chosen = thresholds(asked, usual)
    if chosen.incorrect > chosen.correct:
        wrong += [CORRECT, INCORRECT]
        asked = replace(asked, above=None, below=None)
    return ReadAsked(asked, tuple(wrong))


def thresholds(asked: Asked, usual: Thresholds) -> Thresholds:
    """The thresholds that are asked for, else the measure's."""
    return replace(
        usual,
        correct=usual.correct if asked.above is None else asked.above,
        incorrect=usual.incorrect if asked.below is None else asked.below,
    )


def _threshold(text: str) -> float | None:
    return float(text) if _QUALITY.fullmatch(text) else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        VIEW: url_state.one_of(get_args(View)),
        LAYER: url_state.number,
        TOKENS: url_state.one_of(get_args(TokenChoice)),
        OFFSET: url_state.one_of(OFFSETS),
        COUNT: url_state.one_of(tuple(range(1, MOST_ROWS + 1))),
        CORRECT: _threshold,
        INCORRECT: _threshold,
    }
)


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
    run_filters.mend((*wrong, *unfit))
    return found


def settings(run: Run) -> Settings:
    """The settings of the URL, as far as the layers that the run keeps can follow them."""
    captured = _Captured(run.stored_layers, run.answerer.num_layers, run.answerer.num_heads)
    found = state.settings(captured)
    if _needs_others(found, run):
        state.notify("This run does not keep all layers token by token: the score looks at the middle ones.")
        put_in_url(url_state.LAYERS, None)
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
