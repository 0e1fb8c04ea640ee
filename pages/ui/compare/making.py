"""Making another answer, which becomes B: a branch of A, an answer to another prompt, or a trace from a file."""

import streamlit as st

from pages.ui import jobs
from pages.ui.compare import answers_at_hand
from pages.ui.compare.answers_at_hand import A, Answer, B
from pages.ui.jobs import Branch, Job, Request
from pages.ui.model_form import model_of
from rauq import Trace
from rauq.errors import InvalidInput, RauqError

MAKE = "make"  # whether the fields are open
_JOB, _PROBLEM = "_compare_job", "_compare_problem"


def job() -> Job | None:
    """The job at work, if any."""
    found: Job | None = st.session_state.get(_JOB)
    return found


def problem() -> RauqError | None:
    """Why the last answer was not made."""
    found: RauqError | None = st.session_state.get(_PROBLEM)
    return found


def collect() -> None:
    """Take over what a job that has ended leaves: an answer, which becomes B, or an error."""
    ended = job()
    if ended is not None and not ended.live:
        st.session_state[_PROBLEM] = ended.error
        if ended.trace is not None:
            take(ended.trace)
        del st.session_state[_JOB]  # last: a run that is cut short before it leaves the answer to the next


def take(trace: Trace) -> None:
    """Make an answer B, or A where there is none yet."""
    side = B if answers_at_hand.at_hand() else A
    answers_at_hand.choose(side, answers_at_hand.keep(trace))


def start(request: Request) -> None:
    """Begin to make an answer, unless one is being made: five clicks are one generation."""
    if (at_work := job()) is None or not at_work.live:
        st.session_state.update({_PROBLEM: None, MAKE: False})
        new = st.session_state[_JOB] = jobs.prepare(request)
        jobs.begin(new)


def start_branch(a: Answer, token: int, instead: int | str, max_new_tokens: int) -> None:
    """Begin to branch off A: at `token` it goes on with a token id, or with a text."""
    if instead == "":
        refuse(InvalidInput("There is no text to go on with. Type one, or choose an alternative."))
        return
    trace = a.trace
    branch = Branch(origin=trace, token=token, instead=instead)
    start(
        Request(
            model=model_of(trace),
            prompt=trace.prompt,
            context=trace.messages[:-1],
            template_options=trace.template_options,
            branch=branch,
            max_new_tokens=max_new_tokens,
        )
    )


def stop() -> None:
    """Ask the job to end; what it has so far is kept."""
    if (at_work := job()) is not None:
        at_work.cancel.set()


def open_file(content: bytes, name: str) -> None:
    """Read an answer from a trace file; what is wrong with it is told."""
    try:
        take(Trace.from_bytes(content, name=name))
    except RauqError as error:
        refuse(error)
    else:
        st.session_state.update({_PROBLEM: None, MAKE: False})


def refuse(error: RauqError | None) -> None:
    """Tell why no answer is made, or, with None, no longer tell it."""
    st.session_state[_PROBLEM] = error
