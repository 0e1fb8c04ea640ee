"""The main area of Inspect: an empty page, an answer being generated, or one scored answer with its views."""

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import rauq
from pages.ui.host import hosting
from pages.ui.host.jobs import Job, Request
from pages.ui.inspect import form
from pages.ui.inspect.export_panel import show_exports
from pages.ui.inspect.form import EXAMPLES, run, show_messages, take, task_name
from pages.ui.inspect.linked_views import live_views, payload, show_views
from pages.ui.inspect.settings import offer_probability
from pages.ui.shared import answers, selection, state, url_state
from pages.ui.shared.answer_fields import end_of_form, sampling_of_form
from pages.ui.shared.errors import printable, show_error
from pages.ui.shared.model_form import chosen_model, model_of
from pages.ui.shared.state import Shown
from pages.ui.shared.url_state import DEFAULT_TOKENS, FROM, NUMBER, RUN, Asked
from pages.ui.shared.verdicts import verdict
from rauq.checkpoints.kinds import find_preset
from rauq.labels import running
from rauq.scoring.report import Words, words
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from rauq.trace.messages import Message
from rauq.trace.parts import answer_text
from rauq.trace.trace import Kind, Trace

PAGE = "inspect"
_OFTEN, _SELDOM = 0.2, 0.5  # seconds; each poll takes time from the thread that imports torch or generates for others


def empty_state() -> None:
    """Say what the page is for, and offer prompts to start from."""
    st.title("Where did confidence collapse?", anchor=False)
    st.write(
        "Type a prompt on the left. A language model answers it on this machine, and the page shows at which token "
        "confidence collapsed and which attention head shows it. Or start with one of these examples:"
    )
    for example in EXAMPLES:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(example.name, key=f"start_{example.name}", on_click=take, args=(example,), width=200)
            st.caption(example.what_to_see)


def linked_request(asked: Asked, request: Request, *, is_new: bool) -> None:
    """Show the prompt of a link, which only the user can run; `is_new`: it has not been run yet."""
    st.title("This link asks for an answer", anchor=False)
    untouched = "Nothing has been loaded or run. " if is_new else ""
    st.write(f"{untouched}The form on the left is filled with the link's request: change it, or start it below.")
    st.text(printable(f"Model {running(asked.model)}, prompt:"))
    st.code(printable(asked.prompt), language=None, wrap_lines=True)
    if asked.context:
        show_messages("Conversation before this prompt", asked.context)
    if asked.answer is not None:
        st.text("Answer to score:")
        st.code(printable(asked.answer), language=None, wrap_lines=True)
    st.button(task_name(request), key="run_link", type="primary", on_click=run)


def follow(job: Job) -> None:
    """Show the answer growing; when it is complete, run the whole page again."""
    st.fragment(_show_partial, run_every=_SELDOM if job.waiting else _OFTEN)(job, waiting=job.waiting)


def _show_partial(job: Job, *, waiting: bool) -> None:
    if not job.live or job.waiting != waiting:
        st.rerun()
    seconds = f"{time.monotonic() - job.begun:.1f} s"
    counted = f"{len(job.pieces)} of at most {job.request.max_new_tokens} tokens, {seconds}" if job.pieces else seconds
    source = running(printable(job.request.model.name))
    live_views(list(job.pieces), Words(source=source, headline=f"{job.stage} …", detail=counted))


_OTHER: dict[Kind, Kind] = {"base": "instruct", "instruct": "base"}
_NAMES: dict[Kind, str] = {"base": "base model", "instruct": "chat model"}


def offer_other_kind(trace: Trace) -> None:
    """Offer to treat the model as the other kind, if the form names it and the paper's list does not."""
    listed = trace.model == state.ATLAS or find_preset(trace.model) is not None
    if listed or hosting.is_hosted() or chosen_model().name != trace.model:
        return
    other = _OTHER[trace.kind]
    reason = "" if st.session_state.get(state.KIND) == trace.kind else ", judging by its name and chat template"
    if trace.kind == "base" and trace.chat_applied:
        reason += "; its chat template was still applied, since messages need one"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Treated as a {_NAMES[trace.kind]}{reason}.", width="content")
        st.button(f"Treat as {_NAMES[other]}", key="other_kind", type="tertiary", on_click=_switch, args=(other,))


def _switch(kind: Kind) -> None:
    """Treat the model as the other kind and answer again."""
    st.session_state[state.KIND] = kind
    form.run()


_QUESTION = "follow_up"


def ask_follow_up(trace: Trace) -> None:
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
            max_new_tokens=st.session_state.get(state.LIMIT, DEFAULT_TOKENS),
            sampling=sampling_of_form(),
            end=end_of_form(),
        )
    )
    st.session_state[_QUESTION] = ""
    form.run()


_BRANCH = "_branch"
_WAYS_BACK = {
    "answer_sets": ("pages/answer_sets.py", "Back to the answer set"),
    "methods": ("pages/methods.py", "Back to the methods of the run"),
}


def show_answer(shown: Shown, settings: Settings) -> None:
    """Score an answer and show it."""
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
    """Rerun alone when something is selected; the views get the data they have, so they redraw nothing."""
    if RUN in st.query_params:
        _way_back()
    show_views(
        dict(data),
        on_view=lambda event: _apply_selection(shown, event),
        on_branch=lambda token: st.session_state.update({_BRANCH: token}),
    )
    marked = replace(shown.trace, wrong=state.wrong_tokens(shown.trace))
    if (token := st.session_state.pop(_BRANCH, None)) is not None:
        query = url_state.comparing(shown.name, marked.wrong) | {"branch": str(token)}
        st.switch_page("pages/compare.py", query_params=query)
    ask_follow_up(shown.trace)
    show_exports(shown, marked, score)
    url_state.remember(PAGE)


def _way_back() -> None:
    page, label = _WAYS_BACK.get(st.query_params.get(FROM, ""), _WAYS_BACK["answer_sets"])
    st.page_link(
        page,
        label=label,
        icon=":material/arrow_back:",
        query_params=answers.way_back(st.query_params.to_dict()),
    )


def _apply_selection(shown: Shown, event: Mapping[str, Any]) -> None:
    if event["answer"] == shown.name:  # a late event of the previous answer would change the selection in this one
        selection.store_selection(event, shown.trace)
