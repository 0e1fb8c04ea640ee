"""The answer shown, continued from a token with one of its alternatives: the job, its result, and what is drawn."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

import rauq
from pages.ui.host import jobs
from pages.ui.host.hosting import without_folders
from pages.ui.host.jobs import Job
from pages.ui.host.looking import stage
from pages.ui.host.request import Branch, branch_request
from pages.ui.inspect.linked_views.encoding import as_base64
from pages.ui.inspect.reference import Reference, ranked
from pages.ui.shared import answers, state
from pages.ui.shared.model_form import model_of
from pages.ui.shared.url_state import DEFAULT_TOKENS, KEPT
from rauq.errors import InvalidInput, RauqError
from rauq.labels import number, running, token_labels
from rauq.scoring.report import selected_heads, why_empty
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace

_KEY = "_continuation"
_LONGEST_LABEL, _LONGEST_BEFORE = 60, 50  # characters


@dataclass(frozen=True, eq=False, kw_only=True)
class _Continuation:
    """A branch of the answer `shown_name` at `token`: a job, and once it has ended a kept answer or an error."""

    shown_name: str
    token: int
    job: Job | None = None
    kept: str = ""
    error: RauqError | None = None


def start_branch(shown_name: str, trace: Trace, token: int, choice: int) -> None:
    """Continue an answer with the alternative `choice` of `token`, both from the browser, unless a job is running."""
    earlier = _collected(shown_name) or _Continuation(shown_name=shown_name, token=0)
    if earlier.job is not None:
        return
    try:
        branch = Branch(origin=trace, token=token, instead=_alternative(trace, token, choice))
    except InvalidInput as error:
        st.session_state[_KEY] = replace(earlier, error=error)
        return
    limit = int(st.session_state.get(state.LIMIT, DEFAULT_TOKENS))
    job = Job(branch_request(branch, model_of(trace), limit))
    st.session_state[_KEY] = _Continuation(shown_name=shown_name, token=token, job=job)
    jobs.begin(job)


def branch_job(shown_name: str) -> Job | None:
    """Return the running job of this answer, if any."""
    found = _continuation(shown_name)
    return found.job if found is not None and found.job is not None and found.job.live else None


def stop_branch() -> None:
    """Stop the job, keeping what it has."""
    found: _Continuation | None = st.session_state.get(_KEY)
    if found is not None and found.job is not None:
        found.job.cancel.set()


def clear_branch() -> None:
    """Stop the job and forget the branch; an answer that it made stays available in Compare."""
    stop_branch()
    st.session_state.pop(_KEY, None)


def finished_branch(shown_name: str) -> tuple[Trace, int] | None:
    """Return the branch of this answer and the token at which it begins; None while there is none."""
    found = _collected(shown_name)
    trace = answers.find(found.kept) if found is not None and found.kept else None
    return None if found is None or trace is None else (trace, found.token)


def branch_problem(shown_name: str) -> RauqError | None:
    """Return why the branch of this answer was not made, if it failed."""
    found = _collected(shown_name)
    if found is not None and found.kept and answers.find(found.kept) is None:
        return InvalidInput("The continuation is no longer in memory. Choose the alternative again.")
    return None if found is None else found.error


def continuation(shown_name: str, trace: Trace, score: Score, reference: Reference) -> dict[str, Any]:
    """Return what the browser draws of a branch of the answer, growing or complete; nothing without one."""
    if (job := branch_job(shown_name)) is not None:
        said = f"{stage(job)} …" if not job.pieces else f"{len(job.pieces)} tokens so far"
        return {"otherRuns": True, "other": {"text": running("".join(job.pieces)), "facts": said, "kept": ""}}
    if (found := finished_branch(shown_name)) is None:
        return {}
    branch, token = found
    drawn = branch_payload(trace, score, branch, token)
    return {"other": drawn | {"facts": _facts(drawn, score, reference)}}


def _facts(drawn: Mapping[str, Any], score: Score, reference: Reference) -> str:
    if drawn["why"]:
        return f"No score: {drawn['why'].removesuffix('.')}."
    uncertainty, rank = drawn["uncertainty"], ranked(drawn["uncertainty"], reference)
    above = ranked(score.uncertainty, reference).removesuffix(" of this model")
    beside = f"RAUQ {number(uncertainty, places=2)}; the answer above has {number(score.uncertainty, places=2)}"
    compared = f"{rank} (the answer above: {above[:1].lower()}{above[1:]})." if rank and above else ""
    meet = "The curves meet at the branch: entropy is measured before a token is chosen."
    start = meet if score.settings.signal == "entropy" else ""
    return " ".join(filter(None, (compared, f"{beside}.", start, drawn["note"])))


_WAS_LIVE, _OPENED = "_continuation_was_live", "_continuation_opened"


def just_ended(shown_name: str) -> bool:
    """Whether the job has ended since the last question, so that the page need not look again."""
    is_live = branch_job(shown_name) is not None
    was_live = bool(st.session_state.get(_WAS_LIVE))
    st.session_state[_WAS_LIVE] = is_live
    return was_live and not is_live


def act_on_branch(event: object) -> None:
    """Stop the branch, remove it, or open it in Compare, as asked for in the browser; anything else is ignored."""
    if event == "stop":
        stop_branch()
    elif event == "close":
        clear_branch()
    elif event == "compare":
        st.session_state[_OPENED] = True


def opened_in_compare(shown_name: str) -> str | None:
    """Return the reference of the branch if it was asked for in Compare, once."""
    if not st.session_state.pop(_OPENED, False) or (found := finished_branch(shown_name)) is None:
        return None
    return f"{KEPT}:{answers.keep(found[0])}"


def _alternative(trace: Trace, token: int, choice: int) -> int | str:
    """Return what a branch with an alternative begins with.

    Raises:
        InvalidInput: the answer has no such alternative, or it is the token that the answer has.
    """
    rows = trace.alternatives
    are_places = all(type(place) is int for place in (token, choice))  # the browser may send anything
    if not (are_places and 0 <= token < len(rows) and 0 <= choice < len(rows[token])):
        message = "This answer has no such alternative. Choose one of those that are shown at a token."
        raise InvalidInput(message)
    if rows[token][choice].id == trace.answer_ids[token]:
        message = "The answer already continues with this token. Choose another alternative."
        raise InvalidInput(message)
    return rows[token][choice].instead


def _continuation(shown_name: str) -> _Continuation | None:
    """Return the branch of the answer shown; that of another answer is stopped and forgotten."""
    found: _Continuation | None = st.session_state.get(_KEY)
    if found is None or found.shown_name == shown_name:
        return found
    clear_branch()
    return None


def _collected(shown_name: str) -> _Continuation | None:
    """Return the branch of the answer shown, with the result of a job that has ended."""
    found = _continuation(shown_name)
    if found is None or found.job is None or found.job.live:
        return found
    job = found.job
    kept = "" if job.trace is None else answers.keep(job.trace)
    ended = replace(found, job=None, kept=kept, error=job.error)
    st.session_state[_KEY] = ended  # last: if this script run is interrupted before, the next one takes the answer
    return ended


def branch_payload(trace: Trace, before: Score, branch_trace: Trace, token: int) -> dict[str, Any]:
    """Return what the browser draws of a branch of an answer: its N2 tokens, of which those from `token` on are new.

    `before` is the score of the answer, whose settings the branch follows. `choice`: which alternative of the answer it
    begins with, None for another token. `confidence` (Lw, N2) as in the linked views, "" without a score, for which
    `why` is the reason.
    """
    chosen = (int(branch_trace.answer_ids[token]), branch_trace.answer_tokens[token])
    choices = [place for place, other in enumerate(trace.alternatives[token]) if other.instead in chosen]
    bare: dict[str, Any] = {
        "from": token,
        "choice": choices[0] if choices else None,
        "before": _ending(running("".join(branch_trace.answer_tokens[:token]))),
        "text": running("".join(branch_trace.answer_tokens[token:])),
        "tokens": list(token_labels(branch_trace.pieces, longest=_LONGEST_LABEL)),
        "kept": answers.keep(branch_trace),
    }
    try:
        score = _branch_score(trace, branch_trace, before.settings)
    except RauqError as error:
        nothing: dict[str, Any] = {"confidence": "", "layers": [], "heads": [], "uncertainty": None, "note": ""}
        return bare | nothing | {"why": running(without_folders(str(error)))}
    return bare | {
        "confidence": as_base64(score.confidence, "<f4"),
        "layers": list(score.layers),
        "heads": score.heads.tolist(),
        "uncertainty": score.uncertainty if math.isfinite(score.uncertainty) else None,
        "why": why_empty(branch_trace, score.settings.part) or score.reasons.uncertainty,
        "note": _note(before, score),
    }


def _branch_score(trace: Trace, branch_trace: Trace, settings: Settings) -> Score:
    if trace.attribution is not None:
        message = "The continuation has attention, and the weights of the answer above are LIG attributions."
        raise InvalidInput(message)
    return rauq.score(branch_trace, settings)


def _ending(text: str) -> str:
    """Return the end of what both answers have in common."""
    return text if len(text) <= _LONGEST_BEFORE else f"…{text[-_LONGEST_BEFORE:].partition(' ')[2]}"


def _note(answer: Score, branch: Score) -> str:
    """Return which heads the layer that gives the answer's score selects, if those of answer and branch differ."""
    if answer.settings.heads != "max" or answer.layer is None:
        return ""
    own, other = ({head.layer: head.head for head in selected_heads(score)}[answer.layer] for score in (answer, branch))
    if own == other or own is None or other is None:
        return ""
    return f"In layer {answer.layer} RAUQ selects head {other} in the continuation, head {own} in the answer."
