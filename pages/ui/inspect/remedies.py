"""What helps where an answer has no text to score, each in one click: no button for what is known to fail."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from pages.ui.host import hosting, models
from pages.ui.inspect import form
from pages.ui.shared import state
from pages.ui.shared.model_form import chosen_model
from pages.ui.shared.url_state import DEFAULT_TOKENS
from rauq.scoring.empty import Remedy, as_question, empty_answer
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

_MORE = 4  # times the tokens


class _Offer(NamedTuple):
    label: str
    about: str
    act: Callable[[], None]


def offer_remedies(trace: Trace, score: Score) -> None:
    """Offer what helps if the scored part has no text."""
    found = empty_answer(trace, score.settings.part)
    for remedy in found.remedies if found else ():
        if (offered := _offer(remedy, trace)) is not None:
            with st.container(horizontal=True, vertical_alignment="center", key=f"remedy_{remedy}"):
                st.caption(offered.about, width="content")
                st.button(offered.label, key=f"take_{remedy}", on_click=offered.act)


def has_template(trace: Trace) -> bool:
    """Return whether the model of an answer is known to have a chat template, without which it is no chat model."""
    lm = models.if_loaded(chosen_model())
    return trace.chat_applied or (lm is not None and bool(lm.tokens.tokenizer.chat_template))


def _offer(remedy: Remedy, trace: Trace) -> _Offer | None:
    if remedy == "whole":
        about = "No mark says where thinking ends: if this text is the answer, score it as that."
        return _Offer("Score the whole text as the answer", about, lambda: _score_whole(trace))
    if trace.stop_reason == "given" or chosen_model().name != trace.model:
        return None
    limit = int(st.session_state.get(state.LIMIT, DEFAULT_TOKENS))
    more = min(_MORE * limit, hosting.limits().new_tokens)
    match remedy:
        case "question":
            about = "A base model continues a text: written as a question with a cue, the prompt is usually answered."
            return _Offer(
                "Ask as “Question: … Answer:”", about, lambda: _again({state.PROMPT: as_question(trace.prompt)})
            )
        case "no_stop":
            about = "Without the stop, the answer continues past line breaks; see More, No stop text."
            return _Offer("Generate without the stop", about, lambda: _again({state.NO_STOP: True, state.STOP_AT: ""}))
        case "more_tokens" if more > limit:
            about = "The token limit ended the answer."
            return _Offer(f"Generate up to {more:,} tokens", about, lambda: _again({state.LIMIT: more}))
    return None


def _score_whole(trace: Trace) -> None:
    state.change_settings(replace(state.settings(trace), part="all"), trace.kind)


def _again(changes: Mapping[str, object]) -> None:
    """Generate with these fields of the form changed."""
    st.session_state.update({state.TASK: state.GENERATE, **changes})
    form.run()
