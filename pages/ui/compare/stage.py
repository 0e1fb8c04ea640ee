"""What stands on the page before there is an answer to compare, and while another is being made."""

import streamlit as st

import rauq
from analysis.two_answers.comparison import by_position
from pages.ui.compare import fields, making
from pages.ui.compare.answers_at_hand import Answer
from pages.ui.compare.strips import growing_strips
from pages.ui.errors import show_error
from pages.ui.jobs import Job
from rauq.errors import RauqError
from rauq.settings import Settings


def empty_stage() -> None:
    """Say what the page is for, and offer to make the first answer."""
    st.title("Which of two answers is less sure, and from where on?", anchor=False)
    st.write(
        "There is no answer to compare yet. Give a prompt, or open a saved trace: it becomes A. Then make another, or "
        "let A branch: replace one of its tokens, and see how the model would have gone on."
    )
    if error := making.problem():
        show_error(error)
    job = making.job()
    if job is None:
        fields.prompt_fields(None)
        fields.file_field()
    else:
        fields.stop_button()
        follow_first(job)


@st.fragment(run_every=0.2)
def follow_first(job: Job) -> None:
    """Show the first answer growing, as bare text."""
    _rerun_when_ended(job)
    st.text(_progress(job))
    st.text("".join(job.pieces))


@st.fragment(run_every=0.2)
def follow(job: Job, a: Answer, settings: Settings) -> None:
    """Show the new answer growing under A."""
    _rerun_when_ended(job)
    pieces = list(job.pieces)
    columns = by_position(len(a.trace.pieces), len(pieces))
    growing_strips(a, _score(a, settings), pieces, columns, headline=_progress(job))


def _rerun_when_ended(job: Job) -> None:
    if not job.live:
        st.rerun()


def _progress(job: Job) -> str:
    if not job.pieces:
        return f"{job.stage} …"
    kept = job.request.branch.token + 1 if job.request.branch else 0
    return f"{job.stage}: {max(0, len(job.pieces) - kept)} new tokens of at most {job.request.max_new_tokens}"


def _score(a: Answer, settings: Settings) -> rauq.Score:
    """A's score; under the paper's setting where the chosen one does not suit A: only the tokens matter now."""
    try:
        return rauq.score(a.trace, settings)
    except RauqError:
        return rauq.score(a.trace)
