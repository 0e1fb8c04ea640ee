"""The next question under an answer of a chat model: the answer becomes part of the conversation."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui import inputs, state
from pages.ui.answer_fields import end_of_form, sampling_of_form
from pages.ui.links import USUAL_TOKENS, Asked
from pages.ui.model_form import model_of
from rauq.messages import Message
from rauq.parts import answer_text
from rauq.trace import Trace

_QUESTION = "ask_on"


def ask_on(trace: Trace) -> None:
    """A field for the next question, where the answer can be part of a conversation."""
    if not (trace.chat_applied and answer_text(trace).strip()):
        return
    with st.form("ask_on_form", border=False):
        placeholder = "The next question; this answer becomes part of the conversation"
        st.text_area("Follow-up", key=_QUESTION, height=80, placeholder=placeholder)
        asked = st.form_submit_button("Ask a follow-up", key="ask_on_button", on_click=_ask, args=(trace,))
    context = get_script_run_ctx()
    if asked and context is not None and context.fragment_ids_this_run:
        st.rerun()  # this part of the page ran alone, and the answer that is being written is another part


def _ask(trace: Trace) -> None:
    """Put the conversation into the form with the question as its prompt, and begin to answer it.

    How it is answered stays as the form says.
    """
    job, question = st.session_state.get(state.JOB), st.session_state[_QUESTION]
    if not question.strip() or (job is not None and job.live):
        return
    before = trace.messages or (Message(role="user", content=trace.prompt),)
    choice = model_of(trace)
    state.fill_for_next(
        Asked(
            prompt=question,
            context=(*before, Message(role="assistant", content=answer_text(trace))),
            template_options=st.session_state.get(state.OPTIONS, {}),
            model=choice.name,
            kind=choice.kind,
            max_new_tokens=st.session_state.get(state.LIMIT, USUAL_TOKENS),
            sampling=sampling_of_form(),
            end=end_of_form(),
        )
    )
    st.session_state[_QUESTION] = ""
    inputs.run()
