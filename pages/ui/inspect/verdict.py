"""Is the answer shown correct? By the user, by a correct answer that the user typed, or as recorded or in its run.

What the user says is kept for the session, or in the run, and a copied link carries it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zlib import crc32

import streamlit as st

from pages.ui.host.hosting import without_folders
from pages.ui.inspect.linked_views.reported import Corrected, Judged
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.run_views.verdicts import RunVerdict, find_verdict, mark_in_run
from pages.ui.shared.url_state import RUN, SAID, VERDICT, Codec, Read, matching
from rauq.errors import RauqError
from rauq.labels import running, shortened
from rauq.recorded.answers import Recorded
from rauq.recorded.answers import Verdict as Said
from rauq.trace.parts import answer_text
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from analysis.quality.measures import Ruling

LONGEST = 500  # characters of a typed correct answer; what is beyond is cut off
MOST = 100  # answers that a session says something of; the oldest are forgotten

ByUser = Literal["correct", "incorrect"]

_KEY = "_own_verdicts"
_OF_RUN = f"{RUN}:"
_LONGEST_NAME, _LONGEST_REASON = 60, 200  # characters, where a run or a reason is only named
_MOST_NAMES = 5  # of an answer, on each side
_SET, _NOT_STORED = "set by you", "set by you, in this session only, since the run cannot store it"
_OF_LINK = "set in the link"
_RECORDED = "as recorded with this answer"
_NO_TEXT = "not judged, since the answer has no text"
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "facts": "by the rule for facts",
        "contains": "by whether it names the correct answer",
        "token_f1": "by the words it shares with the correct answer",
    }
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether an answer is correct, None where that is not known, and where the verdict comes from, in words.

    `correct_answer`: "" where none is known. `evidence`: what a rule found for and against it.
    `typed`: the user typed it. `can_change`: the user may set the verdict.
    """

    verdict: Said | None = None
    correct_answer: str = ""
    source: str = ""
    evidence: str = ""
    can_change: bool = True
    typed: bool = False

    @property
    def is_correct(self) -> bool | None:
        """Whether the answer is correct; None where that is not known, or only in part."""
        return {"correct": True, "incorrect": False}.get(self.verdict or "")


@dataclass(frozen=True, kw_only=True)
class Own:
    """What the user said of one answer; `source` is that of the verdict."""

    correct_answer: str = ""
    verdict: ByUser | None = None
    source: str = _SET


NOTHING = Own()


def known_verdict(name: str, trace: Trace, recorded: Recorded | None, linked: Own = NOTHING) -> Verdict:
    """Return the verdict on the answer of that name: the user's, else by what was typed, as recorded, of its run.

    `linked`: what the link that led to the answer says, in place of what the user said before.
    """
    own = _own(name, linked)
    if own.correct_answer:
        found = _by_typed(trace, own.correct_answer)
    elif recorded is not None:
        found = Verdict(verdict=recorded.verdict, correct_answer=recorded.correct_answer, source=_RECORDED)
    else:
        found = _of_run(name)
    if own.verdict is not None:
        found = replace(found, verdict=own.verdict, source=own.source, evidence="")
    return replace(found, can_change=bool(answer_text(trace).strip()))


def _by_typed(trace: Trace, correct_answer: str) -> Verdict:
    known = Verdict(correct_answer=correct_answer, typed=True)
    if not (answer := answer_text(trace)).strip():
        return replace(known, source=_NO_TEXT)
    from analysis.quality.measures import judge_typed  # reads the tables of facts, which only this needs

    ruling = judge_typed(trace.prompt, correct_answer, answer)
    rule = _RULES[ruling.measure.id]
    source = rule if ruling.correct is not None else f"not decided {rule}{f', {ruling.reason}' * bool(ruling.reason)}"
    return replace(known, verdict=_said(ruling.correct), source=source, evidence=_evidence(ruling))


def _evidence(ruling: "Ruling") -> str:
    """What the rule found in the answer for and against it; empty where it looks for no names."""
    if ruling.matching is None or ruling.opposing is None:
        return ""
    if not ruling.matching and not ruling.opposing:
        return "The answer names nothing of the kind that is asked for."
    found = f"Matches the correct answer: {_quoted(ruling.matching)}." if ruling.matching else ""
    against = f"Speaks against it: {_quoted(ruling.opposing)}." if ruling.opposing else "Nothing else is named."
    return " ".join(filter(None, (found or "The correct answer is not named.", against)))


def _quoted(names: Sequence[str]) -> str:
    shown = [f"“{shortened(running(name), longest=_LONGEST_NAME)}”" for name in names[:_MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _of_run(name: str) -> Verdict:
    """Return the verdict that a run has on one of its answers; an empty one for other answers."""
    run, number = _place(name)
    try:
        found = find_verdict(run, number) if run else None
    except RauqError as error:
        return Verdict(source=shortened(running(without_folders(str(error))), longest=_LONGEST_REASON))
    if found is None:
        return Verdict()
    return Verdict(verdict=_said(found.correct), correct_answer=found.references, source=_source(run, found))


def _source(run: str, run_verdict: RunVerdict) -> str:
    named = shortened(running(run), longest=_LONGEST_NAME)
    if run_verdict.correct is not None:
        return f"{_SET}, in the run {named}" if run_verdict.by_hand else f"of the run {named}"
    reason = run_verdict.reason or "neither correct nor incorrect"
    if run_verdict.reason and not (run_verdict.by_hand or run_verdict.unclear):
        reason = f"not judged: {reason}"
    return shortened(f"{reason}, in the run {named}", longest=_LONGEST_REASON)


def _place(name: str) -> tuple[str, str]:
    """Return run and number that the name of an answer contains; empty for an answer of no run."""
    run, _, number = name.removeprefix(_OF_RUN).rpartition(":")
    return (run, number) if name.startswith(_OF_RUN) else ("", "")


def _said(correct: bool | None) -> ByUser | None:  # noqa: FBT001 - None is a third case
    return None if correct is None else "correct" if correct else "incorrect"


def set_correct_answer(name: str, text: str) -> None:
    """Keep a correct answer that the user typed; several are separated by " | ", and an empty text removes it."""
    _keep(name, correct_answer=_cleaned(text[:LONGEST]))


def _cleaned(text: str) -> str:
    return " ".join(printable(text).split())


def overrule(name: str, verdict: ByUser | None) -> None:
    """Set the verdict, or undo that with None: in the run of the answer if it can be corrected, else in the session."""
    run, number = _place(name)
    if not run:
        _keep(name, verdict=verdict, source=_SET)
        return
    try:
        mark_in_run(run, int(number), verdict)
    except RauqError:
        _keep(name, verdict=verdict, source=_NOT_STORED)
    else:
        _keep(name, verdict=None)


def verdict_payload(verdict: Verdict) -> dict[str, Any]:
    """Return what the browser shows; `asks`: no correct answer is known, so that there is a field to type one."""
    return {
        "verdict": verdict.verdict,
        "correctAnswer": running(printable(verdict.correct_answer)),
        "source": "" if verdict.source == _RECORDED else printable(verdict.source),  # what is said of its source has it
        "evidence": printable(verdict.evidence),
        "canChange": verdict.can_change,
        "asks": not verdict.correct_answer,
        "typed": verdict.typed,
    }


def apply_event(name: str, event: Judged | Corrected, linked: Own = NOTHING) -> None:
    """Keep what the user typed or set in the browser.

    What a link says is kept too, and leaves the URL: from now on the user says it.
    """
    _take_over(name, linked)
    if isinstance(event, Corrected):
        set_correct_answer(name, event.correct)
    else:
        overrule(name, event.verdict)


def _take_over(name: str, linked: Own) -> None:
    if linked != NOTHING:
        _keep(name, **asdict(linked))
        url_state.write(dict.fromkeys(SAID))


def _read_typed(text: str) -> str | None:
    return (_cleaned(text) or None) if len(text) <= LONGEST else None


_MARK = Codec(matching(r"(in)?correct\.[0-9a-f]{8}", lambda text: tuple(text.split("."))))


@dataclass(frozen=True, kw_only=True)
class _InLink:
    """What a link says of its answer: the verdict, with a checksum of the answer's text, and a typed correct answer."""

    verdict: Annotated[tuple[ByUser, str] | None, _MARK] = None
    correct_answer: Annotated[str, Codec(_read_typed)] = ""


def read_said(query: Mapping[str, str], trace: Trace) -> Read[Own]:
    """What URL parameters say of an answer, given as a whole, and the names of those that cannot be used for it.

    A verdict is on one text: the same link may lead to another, as where a model answers otherwise on another machine.
    """
    asked, wrong = url_state.read(query, _InLink())
    verdict, of = asked.verdict or (None, _checksum(trace))
    if of != _checksum(trace):
        verdict, wrong = None, (*wrong, VERDICT)
    return Read(Own(correct_answer=asked.correct_answer, verdict=verdict, source=_OF_LINK if verdict else _SET), wrong)


def linked_verdict(trace: Trace) -> Own:
    """Return what the URL says of an answer, given as a whole. What cannot be used leaves the URL; the user is told."""
    found, wrong = read_said(st.query_params.to_dict(), trace)
    if wrong:
        names = " and ".join(wrong).replace("_", " ")
        state.notify(f"The link's {names} cannot be used for this answer and was left out.")
        url_state.write(dict.fromkeys(wrong))
    return found


def said_in_link(name: str, trace: Trace, linked: Own) -> dict[str, str]:
    """Return the URL parameters from which `linked_verdict` gives what the user said of an answer, given as a whole."""
    own = _own(name, linked)
    verdict = None if own.verdict is None else (own.verdict, _checksum(trace))
    found = url_state.written(_InLink(verdict=verdict, correct_answer=own.correct_answer), _InLink())
    return {key: text for key, text in found.items() if text is not None}


def _checksum(trace: Trace) -> str:
    return f"{crc32(trace.answer.encode('utf-8', 'surrogatepass')):08x}"


def _own(name: str, linked: Own) -> Own:
    return _owns().get(name, NOTHING) if linked == NOTHING else linked


def _owns() -> Mapping[str, Own]:
    found: Mapping[str, Own] = st.session_state.get(_KEY, {})
    return found


def _keep(name: str, **changes: Any) -> None:  # noqa: ANN401 - fields of _Own
    own = replace(_owns().get(name, NOTHING), **changes)
    others = {other: said for other, said in _owns().items() if other != name}
    new = {name: own} if own.correct_answer or own.verdict else {}
    st.session_state[_KEY] = dict([*others.items(), *new.items()][-MOST:])
