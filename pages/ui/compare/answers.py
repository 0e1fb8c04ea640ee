"""The two answers of a comparison, A and B, as the URL names them, and the jobs that make a new B."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui.host import jobs
from pages.ui.host.jobs import Job
from pages.ui.host.request import Branch, Request, branch_request
from pages.ui.shared import answers, state, url_state
from pages.ui.shared.model_form import model_of
from pages.ui.shared.state import recordings
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running
from rauq.trace.trace import Trace

PAGE = "compare"
A, B, TOKEN, BRANCH = "a", "b", "token", "branch"
PICKER = "answer_"  # plus the side: the key of its list
_EXAMPLE, _KEPT = "example:", "kept:"
_WRONG = "_wrong"  # behind the side
_LONGEST_ANSWER, _LONGEST_PROMPT = 36, 30


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """One side of the comparison; `note` says what to look for in a recorded one.

    `wrong` are the tokens marked as incorrect: those in the URL, or else those stored in the trace.
    """

    ref: str
    trace: Trace
    note: str = ""
    wrong: tuple[int, ...] = ()


def pair() -> tuple[Answer, Answer] | None:
    """Return the answers that the URL names; a default replaces one that is not named, or not known.

    The defaults are the recorded answer that the app opens on, and the nearest one with another verdict.

    None if there is no answer at all.

    Raises:
        TraceFileError: a recorded file is damaged.
    """
    a = _asked(A) or _found(default_first())
    if a is None:
        return None
    b = _asked(B) or _found(default_other(a.ref)) or a
    return _marked(A, a), _marked(B, b)


def gone() -> tuple[str, ...]:
    """Return the sides for which the URL names an answer that was in memory and is not any more."""
    named = {side: st.query_params.get(side, "") for side in (A, B)}
    return tuple(side for side, ref in named.items() if ref.startswith(_KEPT) and _found(ref) is None)


def leave_gone(sides: tuple[str, ...]) -> None:
    """Show other answers on these sides; an empty URL would be taken for a switch of pages."""
    if set(sides) == {A, B}:
        choose_pair(default_first())
    else:
        url_state.drop(*(name for side in sides for name in (side, side + _WRONG)))


def restore_page_url() -> None:
    """Restore the URL as it was when this page was left: switching pages empties it and drops the widgets."""
    if PICKER + A not in st.session_state:
        url_state.restore_url(PAGE)
    url_state.hold((A, B))


def available_answers() -> Mapping[str, str]:
    """Return the answers to choose from, by reference: the recorded ones, then this session's, the latest first."""
    recorded = {_EXAMPLE + recording.id: f"{recording.name} ({recording.verdict})" for recording in recordings()}
    mine = answers.mine()
    numbered = zip(range(len(mine), 0, -1), mine.items(), strict=True)
    return recorded | {_KEPT + name: f"{number}. {in_short(trace)}" for number, (name, trace) in numbered}


def default_first() -> str:
    """Return the default A: the first answer, which is recorded; "" without any."""
    return next(iter(available_answers()), "")


def branched() -> str:
    """Return the recorded answer that the first recorded branch branches off; "" without any."""
    return next((_EXAMPLE + recording.branch_of for recording in recordings() if recording.branch_of), "")


def default_other(ref: str) -> str:
    """Return the default B: the recorded branch of A, else the nearest recorded one with another verdict."""
    recorded = {_EXAMPLE + recording.id: recording.correct for recording in recordings()}
    branches = [_EXAMPLE + recording.id for recording in recordings() if ref == _EXAMPLE + recording.branch_of]
    if branches:
        return branches[0]
    others = [other for other in recorded if recorded[other] != recorded.get(ref, False)]
    places = list(recorded)
    if ref in recorded and others:
        return min(others, key=lambda other: abs(places.index(other) - places.index(ref)))
    return next((other for other in available_answers() if other != ref), ref)


def keep(trace: Trace) -> str:
    """Store an answer and return its reference."""
    return _KEPT + answers.keep(trace)


def choose(side: str, ref: str) -> None:
    """Put an answer on one side; marks and the token selected in A are cleared with the previous answer."""
    url_state.write({side: ref} | dict.fromkeys((side + _WRONG, *((TOKEN, BRANCH) if side == A else ()))))


def choose_pair(ref: str) -> None:
    """Put an answer on side A, and beside it the one that is its default."""
    choose(A, ref)
    choose(B, default_other(ref))


def swap(a: Answer, b: Answer) -> None:
    """Swap A and B, with their marks."""
    marks = {side + _WRONG: st.query_params.get(other + _WRONG) for side, other in ((A, B), (B, A))}
    choose(A, b.ref)
    choose(B, a.ref)
    url_state.update_url(marks)


def selected_token(a: Trace) -> int | None:
    """Return the token of A that the URL names; if A has no such token, the last one, with a notice."""
    text = st.query_params.get(TOKEN) or st.query_params.get(BRANCH)
    if text is None:
        return None
    asked, last = url_state.number(text), len(a.pieces) - 1
    if asked is None:
        state.notify("The link's token is not a number and was ignored.")
        select_token(None)
    elif asked > last:
        state.notify(f"A has no token {asked}: the last one, {last}, is selected.")
        select_token(last)
    return None if asked is None else min(asked, last)


def select_token(token: int | None) -> None:
    """Select a token of A, or none."""
    url_state.update_url({BRANCH: None, TOKEN: None if token is None else str(token)})


def in_short(trace: Trace) -> str:
    """Return the ends of the answer and its prompt, which distinguish answers that begin alike."""
    return f"{_ending(trace.answer, _LONGEST_ANSWER)} ← {_ending(trace.prompt, _LONGEST_PROMPT)}"


def _ending(text: str, longest: int) -> str:
    line = running(text.strip()[-4 * longest :])
    return line if len(line) <= longest else f"…{line[1 - longest :]}"


def _asked(side: str) -> Answer | None:
    """Return the answer that the URL names for one side; if it is unavailable, clean the URL and show a notice."""
    ref = st.query_params.get(side)
    answer = _found(ref) if ref is not None else None
    if ref is not None and answer is None:
        url_state.drop(side, side + _WRONG)
        state.notify(f"The answer {side.upper()} of this link is no longer in memory; another one is shown.")
    return answer


def _marked(side: str, answer: Answer) -> Answer:
    return replace(answer, wrong=state.wrong_tokens(answer.trace, side + _WRONG, where=side.upper()))


def _found(ref: str) -> Answer | None:
    for one in recordings():
        if ref == _EXAMPLE + one.id:
            return Answer(ref=ref, trace=one.trace(), note=one.note)
    if (of_run := answers.find_by_ref(ref)) is not None:
        return Answer(ref=ref, trace=of_run.trace, note=of_run.note)
    kept = answers.find(ref.removeprefix(_KEPT)) if ref.startswith(_KEPT) else None
    return Answer(ref=ref, trace=kept) if kept else None


MAKE = "make"  # whether the fields are open
_JOB, _PROBLEM = "_compare_job", "_compare_problem"


def job() -> Job | None:
    """Return the running job, if any."""
    found: Job | None = st.session_state.get(_JOB)
    return found


def problem() -> RauqError | None:
    """Return why the last answer was not made, if it failed."""
    found: RauqError | None = st.session_state.get(_PROBLEM)
    return found


def collect() -> None:
    """Collect the result of a job that has ended: an answer, which becomes B, or an error."""
    ended = job()
    if ended is not None and not ended.live:
        st.session_state[_PROBLEM] = ended.error
        if ended.trace is not None:
            take(ended.trace)
        del st.session_state[_JOB]  # last: if this script run is interrupted before, the next one takes the answer


def take(trace: Trace) -> None:
    """Show an answer as B, or as A if there is none yet."""
    side = B if available_answers() else A
    choose(side, keep(trace))


def start(request: Request) -> None:
    """Start generating an answer unless a job is running: five clicks start one generation."""
    if (at_work := job()) is None or not at_work.live:
        st.session_state.update({_PROBLEM: None, MAKE: False})
        new = st.session_state[_JOB] = jobs.Job(request)
        jobs.begin(new)


def start_branch(a: Answer, token: int, instead: int | str, max_new_tokens: int) -> None:
    """Start a branch off A: from `token` on it continues with a token id or a text."""
    if instead == "":
        refuse(InvalidInput("There is no text to continue with. Type one, or choose an alternative."))
        return
    branch = Branch(origin=a.trace, token=token, instead=instead)
    start(branch_request(branch, model_of(a.trace), max_new_tokens))


def open_file(content: bytes, name: str) -> None:
    """Read an answer from a trace file, or show what is wrong with it."""
    try:
        take(Trace.from_bytes(content, name=name))
    except RauqError as error:
        refuse(error)
    else:
        st.session_state.update({_PROBLEM: None, MAKE: False})


def refuse(error: RauqError | None) -> None:
    """Show why no answer was made, or clear that message with None."""
    st.session_state[_PROBLEM] = error
