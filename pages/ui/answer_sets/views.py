"""The page Answer sets: one view of a run, of heads, attention, tokens or scores, below the choices it depends on."""

from collections.abc import Callable
from types import MappingProxyType

import streamlit as st

from analysis.tokens.sentences import undefined_reason
from analysis.views.heads import HEADS, TOKENS
from pages.ui.answer_sets import choices
from pages.ui.answer_sets.answers import answers, has_scores
from pages.ui.answer_sets.choices import ANSWERS, LISTED, PAGE, VIEWS, Asked, Chosen, choose
from pages.ui.answer_sets.heads import heads
from pages.ui.host import cache
from pages.ui.shared.run_views.page import (
    default_thresholds,
    draw_view,
    filters,
    open_run,
    run_picker,
)
from pages.ui.shared.run_views.picker import view_picker
from pages.ui.shared.run_views.views import draw, say
from pages.ui.shared.url_state import GOAL, HEADS_GOAL, VIEW

_NO_FACTS = (
    "Which tokens are wrong is unknown in this run. It is known for the sets of facts, and for a file that names the "
    "wrong texts of its answers in a column."
)


def _wrong_tokens(chosen: Chosen) -> None:
    """Draw every signal in three comparisons, or say why none can be judged."""
    seen = cache.seen(TOKENS, chosen, chosen.choices)
    if undefined_reason(seen.result):
        say(TOKENS, seen, chosen)
        st.text(_NO_FACTS)
    else:
        draw(TOKENS, chosen, chosen.choices)


_OWN = MappingProxyType[str, Callable[[Chosen], None]]({HEADS.id: heads, TOKENS.id: _wrong_tokens, ANSWERS: answers})
"""Views with more than their figures and tables."""
_OF_ANSWERS = frozenset({"settings"})  # what the list of answers depends on
_BY_ID = MappingProxyType({view.id: view for view in VIEWS})


def empty_state() -> None:
    """Show what the page is for and how to get a run."""
    st.title("Do attention heads separate correct from incorrect answers?", anchor=False)
    st.write(
        "This page finds the heads whose attention separates correct from incorrect answers, and draws the paper's "
        "figures, for a run: a scored set of answers. Clicking a point opens its answer. "
        "There is no run here yet."
    )
    _of_my_model("Find the uncertainty heads of my model")
    st.caption("From a model and a labelled file, in one form.")


def _of_my_model(label: str) -> None:
    """Link to the form of a run that is made for the view Heads."""
    st.page_link(
        "pages/runs.py",
        label=label,
        icon=":material/add:",
        help="Find the uncertainty heads of my model: from a model and a labelled file, in one form",
        query_params={VIEW: "new", GOAL: HEADS_GOAL},
    )


def show_run(name: str) -> None:
    """Open a run and show the view in the URL."""
    columns = st.columns([2.5, 4, 1.9, 1.9, 2.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=choices.OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    usual, settings = default_thresholds(run), choices.settings(run)
    asked = choices.asked(run, usual)
    if not (asked.view == ANSWERS and has_scores(run, settings)):
        run = cache.sampled(run)
    chosen = choose(name, run, asked, settings, usual)
    _controls(columns[1:], chosen)
    view_picker(LISTED, asked.view, usual=Asked().view)
    draw_view(lambda: _draw(chosen), chosen, figure=asked.view != ANSWERS)


def _draw(chosen: Chosen) -> None:
    view = chosen.asked.view
    if view in _OWN:
        _OWN[view](chosen)
    else:
        draw(_BY_ID[view], chosen, chosen.choices)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen) -> None:
    view = chosen.asked.view
    needs = _OF_ANSWERS if view == ANSWERS else _BY_ID[view].needs
    with columns[0]:
        if "tokens" in needs:
            choices.token_switch(chosen.run, chosen.asked)
    with columns[1]:
        if "layer" in needs:
            choices.layer_picker(chosen)
        elif view == HEADS.id:
            with st.container(key="heads_of_my_model"):
                _of_my_model("Heads of my model")
    with columns[2]:
        filters(chosen, chosen.asked)
    with columns[3]:
        choices.reading(chosen, needs)
