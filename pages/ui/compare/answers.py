"""The two answers of a comparison, A and B, as the URL names them, and the making of another B."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui.host import jobs
from pages.ui.host.jobs import Branch, Job, Request
from pages.ui.shared import answers, state, url_state
from pages.ui.shared.model_form import model_of
from pages.ui.shared.state import recordings
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running
from rauq.trace.trace import Trace

A, B, TOKEN, BRANCH = "a", "b", "token", "branch"
PICKER = "answer_"  # and the side: the key of its list
_EXAMPLE, _KEPT = "example:", "kept:"
_WRONG = "_wrong"  # behind the side
_LAST_QUERY = "_compare_query"
_VERDICT = {True: "right", False: "wrong"}
_LONGEST_ANSWER, _LONGEST_PROMPT = 36, 30


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """One side of the comparison; `note` says what there is to see in a recorded one.

    `wrong` are the tokens that the user marked: those of the URL, or else those that the trace came with.
    """

    ref: str
    trace: Trace
    note: str = ""
    wrong: tuple[int, ...] = ()


def pair() -> tuple[Answer, Answer] | None:
    """The answers that the URL names; where it names none, or one that is gone, the first picture takes the place.

    None where there is no answer at all.

    Raises:
        TraceFileError: a recorded file is damaged.
    """
    a = _asked(A) or _found(next(iter(at_hand()), ""))
    if a is None:
        return None
    b = _asked(B) or _found(beside(a.ref)) or a
    return _marked(A, a), _marked(B, b)


def bring_back_url() -> None:
    """A switch of pages empties the URL and drops the widgets: bring back what it said when this page was left."""
    arriving = PICKER + A not in st.session_state
    if arriving and not st.query_params and (last := st.session_state.get(_LAST_QUERY)):
        st.query_params.from_dict(last)
    url_state.hold((A, B))


def remember_url() -> None:
    """Keep the URL for `bring_back_url`."""
    st.session_state[_LAST_QUERY] = st.query_params.to_dict()


def at_hand() -> Mapping[str, str]:
    """The answers to choose from, by reference: the recorded ones, then this session's, the latest first."""
    recorded = {_EXAMPLE + one.id: f"{one.name} ({_VERDICT[one.correct]})" for one in recordings()}
    mine = answers.mine()
    numbered = zip(range(len(mine), 0, -1), mine.items(), strict=True)
    return recorded | {_KEPT + name: f"{number}. {in_short(trace)}" for number, (name, trace) in numbered}


def beside(ref: str) -> str:
    """The answer to compare with where none is chosen: of the nearest recorded one, the other verdict."""
    recorded = {_EXAMPLE + one.id: one.correct for one in recordings()}
    others = [other for other in recorded if recorded[other] != recorded.get(ref, False)]
    places = list(recorded)
    if ref in recorded and others:
        return min(others, key=lambda other: abs(places.index(other) - places.index(ref)))
    return next((other for other in at_hand() if other != ref), ref)


def keep(trace: Trace) -> str:
    """Remember an answer, and return its reference."""
    return _KEPT + answers.keep(trace)


def choose(side: str, ref: str) -> None:
    """Put an answer on one side; marks, and a token that was selected in A, belong to the answer before."""
    url_state.write({side: ref} | dict.fromkeys((side + _WRONG, *((TOKEN, BRANCH) if side == A else ()))))


def swap(a: Answer, b: Answer) -> None:
    """Put A in the place of B, and B in that of A, with their marks."""
    marks = [st.query_params.get(side + _WRONG) for side in (B, A)]
    choose(A, b.ref)
    choose(B, a.ref)
    st.query_params.update({side + _WRONG: text for side, text in zip((A, B), marks, strict=True) if text is not None})


def selected_token(a: Trace) -> int | None:
    """The token of A that the URL names; one that A lacks gives way to the last, and the user is told."""
    text = st.query_params.get(TOKEN) or st.query_params.get(BRANCH)
    if text is None:
        return None
    asked, last = url_state.number(text), len(a.pieces) - 1
    if asked is None:
        state.notify("The link's token is no number; it is left out.")
        select_token(None)
    elif asked > last:
        state.notify(f"A has no token {asked}: the last one, {last}, is selected.")
        select_token(last)
    return None if asked is None else min(asked, last)


def select_token(token: int | None) -> None:
    """Select a token of A, or none."""
    url_state.update_url({BRANCH: None, TOKEN: None if token is None else str(token)})


def in_short(trace: Trace) -> str:
    """The end of the answer and that of its prompt: what tells one from others that begin alike."""
    return f"{_ending(trace.answer, _LONGEST_ANSWER)} ← {_ending(trace.prompt, _LONGEST_PROMPT)}"


def _ending(text: str, longest: int) -> str:
    line = running(text.strip()[-4 * longest :])
    return line if len(line) <= longest else f"…{line[1 - longest :]}"


def _asked(side: str) -> Answer | None:
    """The answer that the URL names for one side; one that is gone is taken out of the URL, and the user is told."""
    ref = st.query_params.get(side)
    answer = _found(ref) if ref is not None else None
    if ref is not None and answer is None:
        _forget(side, side + _WRONG)
        state.notify(f"The answer {side.upper()} of this link is no longer in memory: another stands in its place.")
    return answer


def _marked(side: str, answer: Answer) -> Answer:
    text = st.query_params.get(side + _WRONG)
    if text is None:
        return replace(answer, wrong=answer.trace.wrong)
    wrong, usable = url_state.read_wrong(text, len(answer.trace.pieces))
    if not usable:
        state.notify(f"Some tokens that the link marks as wrong are not in {side.upper()}; they are left out.")
        st.query_params[side + _WRONG] = url_state.written_wrong(wrong)
    return replace(answer, wrong=wrong)


def _forget(*names: str) -> None:
    url_state.update_url(dict.fromkeys(names))


def _found(ref: str) -> Answer | None:
    for one in recordings():
        if ref == _EXAMPLE + one.id:
            note = f"Recorded; the answer is {_VERDICT[one.correct]}. {one.what_to_see}"
            return Answer(ref=ref, trace=one.trace(), note=note)
    if (of_run := answers.find_by_ref(ref)) is not None:
        return Answer(ref=ref, trace=of_run.trace, note=of_run.note)
    kept = answers.find(ref.removeprefix(_KEPT)) if ref.startswith(_KEPT) else None
    return Answer(ref=ref, trace=kept) if kept else None


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
    side = B if at_hand() else A
    choose(side, keep(trace))


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
