"""A conversation continues: the next question, with the answer shown as a part of what comes before it."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.inspect import form
from pages.ui.shared import state
from pages.ui.shared.answer_fields import end_of_form, sampling_of_form
from pages.ui.shared.model_form import model_of
from pages.ui.shared.url_state import DEFAULT_TOKENS, Asked
from rauq.trace.messages import Message
from rauq.trace.parts import answer_text
from rauq.trace.trace import Trace

_QUESTION = "follow_up"


def follow_up(trace: Trace) -> None:
    """Draw a field for the next question if the answer can be part of a conversation."""
    if not (trace.chat_applied and answer_text(trace).strip()):
        return
    with st.form("follow_up_form", border=False):
        placeholder = "The next question; this answer becomes part of the conversation"
        st.text_area("Follow-up", key=_QUESTION, height=80, placeholder=placeholder)
        asked = st.form_submit_button("Ask a follow-up", key="follow_up_button", on_click=_ask, args=(trace,))
    context = get_script_run_ctx()
    if asked and context is not None and context.fragment_ids_this_run:
        st.rerun()  # only this fragment ran; the answer being generated is outside it


def _ask(trace: Trace) -> None:
    """Fill the form with the conversation and the question as prompt, and start answering.

    All other options stay as in the form.
    """
    job, question = st.session_state.get(state.JOB), st.session_state.get(_QUESTION)
    if not (isinstance(question, str) and question.strip()) or (job is not None and job.live):
        return  # a client that is no browser sends what is no text
    before = trace.messages or (Message(role="user", content=trace.prompt),)
    choice = model_of(trace)
    form.fill_for_next(
        Asked(
            prompt=question,
            context=(*before, Message(role="assistant", content=answer_text(trace))),
            template_options=st.session_state.get(state.OPTIONS, {}),
            model=choice.name,
            kind=choice.kind,
            max_new_tokens=st.session_state.get(state.LIMIT, DEFAULT_TOKENS),
            sampling=sampling_of_form(),
            end=end_of_form(),
        )
    )
    st.session_state[_QUESTION] = ""
    form.run()
