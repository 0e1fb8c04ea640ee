"""The verdict that a run has on one of its answers, and buttons to correct it; the run stores corrections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import show_error
from rauq.errors import RauqError, RunError
from rauq.labels import running, shortened

if TYPE_CHECKING:
    from analysis.runs.opened import Run

_PROBLEM = "_verdict_problem"
_LONGEST = 200  # characters of the references
_HELP = "A corrected answer has quality 1 (correct) or 0 (incorrect) in every figure, table and export of this run."


def verdict_buttons(run: "Run", name: str, number: int | None) -> None:
    """Show buttons to correct the verdict on one answer, disabled while none is chosen, or why the run is read-only."""
    from analysis.runs.opened import why_fixed

    if fixed := why_fixed(run):
        st.caption(fixed, width="content")
        return
    row = None if number is None else run.answers.iloc[_row(run, number)]
    said = None if row is None or not row["corrected"] else bool(row["quality"])
    for key, label, correct in (("correct", "Mark as correct", True), ("incorrect", "Mark as incorrect", False)):
        if said is not correct:
            _button(label, f"verdict_{key}", name, number, correct=correct)
    if said is not None:
        _button("Undo", "verdict_undo", name, number, correct=None)
    if error := st.session_state.pop(_PROBLEM, None):
        show_error(error)


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """What a run says of one of its answers.

    `correct` is None where it is neither correct nor incorrect, or, for the `reason`, not judged. `references`: correct
    answers as one line, "" without any.
    """

    correct: bool | None
    by_hand: bool
    references: str
    reason: str = ""


def find_verdict(name: str, example: str) -> RunVerdict | None:
    """Return the verdict on the answer to example `example` of the run `name`; None if there is no such answer.

    Raises:
        RunError: the run cannot be read.
    """
    number, folder = url_state.number(example), runs.folder(name)
    if number is None or folder is None:
        return None
    run = cache.run(folder)
    return read_verdict(run, number) if (run.answers["number"] == number).any() else None


def read_verdict(run: "Run", number: int) -> RunVerdict:
    """Return the verdict on one answer of an open run."""
    from analysis.quality.measures import measure

    row = run.answers.iloc[_row(run, number)]
    judged, quality = measure(run.manifest.request.quality), float(row["quality"])
    return RunVerdict(
        correct=bool(quality) if row["corrected"] else judged.thresholds.decide(quality),
        by_hand=bool(row["corrected"]),
        references=shortened(running(" | ".join(row["references"])), longest=_LONGEST),
        reason=running(row["quality_reason"]) if np.isnan(quality) else "",
    )


def _button(label: str, key: str, name: str, number: int | None, *, correct: bool | None) -> None:
    what = {"name": name, "number": number, "correct": correct}
    st.button(label, key=key, help=_HELP, disabled=number is None, on_click=_correct, kwargs=what)


def _correct(*, name: str, number: int, correct: bool | None) -> None:
    try:
        correct_in_run(name, number, correct=correct)
    except RauqError as error:
        st.session_state[_PROBLEM] = error
    else:
        said = "undone" if correct is None else f"saved: the answer counts as {'correct' if correct else 'incorrect'}"
        state.notify(f"Correction {said}.")


def correct_in_run(name: str, number: int, *, correct: bool | None) -> None:
    """Correct a verdict in its run, or undo that with None; only runs of this session have a name here.

    Raises:
        InvalidInput: the verdicts of this run cannot be corrected.
        RunError: there is no such run, or the correction cannot be written.
    """
    from analysis.runs.opened import correct_verdict

    if (folder := runs.folder(name)) is None:
        message = f"Run {name} not found. Choose another one."
        raise RunError(message)
    correct_verdict(cache.run(folder), number, correct=correct)


def _row(run: "Run", number: int) -> int:
    return int(np.flatnonzero(run.answers["number"] == number)[0])
