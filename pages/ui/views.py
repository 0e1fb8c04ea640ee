"""One scored answer: the linked views, and underneath what can be taken away."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

import rauq
from pages.ui import links, run_answers, selection, state
from pages.ui.ask_on import ask_on
from pages.ui.conversation import show_messages
from pages.ui.errors import show_error
from pages.ui.kind_offer import offer_other_kind
from pages.ui.linked_views import payload, show_views
from pages.ui.links import FROM, NUMBER, RUN
from pages.ui.scoring import offer_probability
from pages.ui.state import Shown
from pages.ui.take_away import take_away
from pages.ui.verdicts import verdict
from pages.ui.words import words
from rauq.score import Score
from rauq.settings import Settings

_BRANCH = "_branch"
_WAYS_BACK = {
    "answer_sets": ("pages/answer_sets.py", "Back to its answer set"),
    "methods": ("pages/methods.py", "Back to the methods on its run"),
}


def show_answer(shown: Shown, settings: Settings) -> None:
    """Score an answer, and show it."""
    try:
        score = rauq.score(shown.trace, settings)
    except rauq.RauqError as error:
        show_error(error)
        return
    offer_other_kind(shown.trace)
    offer_probability(shown.trace, score.settings)
    if shown.trace.messages[:-1]:
        show_messages("Conversation so far", shown.trace.messages)
    if (name := st.query_params.get(RUN)) is not None:
        verdict(name, st.query_params.get(NUMBER, ""))
    selected = selection.chosen(shown.trace)
    wrong = state.wrong_tokens(shown.trace)
    data = payload(shown.trace, score, words(shown.trace, score, shown.note)) | {
        "answer": shown.name,
        "selection": asdict(selected),
        "serial": selection.serial(selected, wrong),
        "wrong": wrong,
    }
    _linked(shown, score, data)


@st.fragment
def _linked(shown: Shown, score: Score, data: Mapping[str, Any]) -> None:
    """Runs alone when something is selected; the views are given what they have already, so they draw nothing again."""
    if RUN in st.query_params:
        _way_back()
    show_views(
        dict(data),
        on_view=lambda told: _hear(shown, told),
        on_branch=lambda token: st.session_state.update({_BRANCH: token}),
    )
    marked = replace(shown.trace, wrong=state.wrong_tokens(shown.trace))
    if (token := st.session_state.pop(_BRANCH, None)) is not None:
        query = links.comparing(shown.name, marked.wrong) | {"branch": str(token)}
        st.switch_page("pages/compare.py", query_params=query)
    ask_on(shown.trace)
    take_away(shown, marked, score)
    state.remember_url()


def _way_back() -> None:
    page, label = _WAYS_BACK.get(st.query_params.get(FROM, ""), _WAYS_BACK["answer_sets"])
    st.page_link(
        page,
        label=label,
        icon=":material/arrow_back:",
        query_params=run_answers.way_back(st.query_params.to_dict()),
    )


def _hear(shown: Shown, told: Mapping[str, Any]) -> None:
    if told["answer"] == shown.name:  # a late word about the answer before would select in this one
        selection.hear(told, shown.trace)
