"""What stands in the middle of the page before there is an answer to look into, and while one is being written."""

import time

import streamlit as st

from pages.ui.conversation import show_messages
from pages.ui.errors import printable
from pages.ui.examples import EXAMPLES
from pages.ui.inputs import run, take, task_name
from pages.ui.jobs import Job, Request
from pages.ui.linked_views import live_views
from pages.ui.links import Asked
from pages.ui.words import Words
from rauq.labels import running

_OFTEN, _SELDOM = 0.2, 0.5  # seconds; each look takes time from the thread that imports torch, or generates for others


def empty_stage() -> None:
    """Say what the page is for, and offer prompts to start from."""
    st.title("Where did the model stop knowing?", anchor=False)
    st.write(
        "Give a prompt on the left. A language model answers it on this machine, and the page shows at which token its "
        "confidence collapsed, and which attention head shows it. Or start with one of these:"
    )
    for example in EXAMPLES:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(example.name, key=f"start_{example.name}", on_click=take, args=(example,), width=200)
            st.caption(example.what_to_see)


def asking_stage(asked: Asked, request: Request, *, is_new: bool) -> None:
    """A link brought a prompt: show it, and leave it to the reader to run it; `is_new`: nobody has tried to yet."""
    st.title("This link asks for an answer", anchor=False)
    untouched = "Nothing has been loaded or run. " if is_new else ""
    st.write(f"{untouched}The form on the left holds what the link asks for; change it or start.")
    st.text(printable(f"{running(asked.model)} is asked:"))
    st.code(printable(asked.prompt), language=None, wrap_lines=True)
    if asked.context:
        show_messages("Conversation before this prompt", asked.context)
    if asked.answer is not None:
        st.text("and this answer is scored:")
        st.code(printable(asked.answer), language=None, wrap_lines=True)
    st.button(task_name(request), key="run_link", type="primary", on_click=run)


def follow(job: Job) -> None:
    """Show the answer growing; when it is complete, run the whole page again."""
    st.fragment(_grow, run_every=_SELDOM if job.waiting else _OFTEN)(job, waiting=job.waiting)


def _grow(job: Job, *, waiting: bool) -> None:
    if not job.live or job.waiting != waiting:
        st.rerun()
    seconds = f"{time.monotonic() - job.begun:.1f} s"
    counted = f"{len(job.pieces)} of at most {job.request.max_new_tokens} tokens, {seconds}" if job.pieces else seconds
    source = running(printable(job.request.model.name))
    live_views(list(job.pieces), Words(source=source, headline=f"{job.stage} …", detail=counted))
