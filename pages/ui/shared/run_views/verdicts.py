"""The verdict that a run has on one of its answers, and buttons to correct it; the run stores corrections."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import show_error
from rauq.errors import RauqError, RunError
from rauq.labels import running, shortened

if TYPE_CHECKING:
    import pandas as pd

    from analysis.runs.opened import Run

Mark = Literal["correct", "incorrect", "left out"]
"""What a user says of an answer; one that is left out is in no figure."""

_PROBLEM = "_verdict_problem"
_LONGEST = 200  # characters of the references
_HELP = "Kept with the run: counts in every figure, table and export as quality 1 (correct), 0 (incorrect) or none."
_LABELS: Mapping[Mark, str] = MappingProxyType(
    {"correct": "Mark as correct", "incorrect": "Mark as incorrect", "left out": "Leave out"}
)


def verdict_buttons(run: "Run", name: str, number: int | None) -> None:
    """Show buttons to correct the verdict on one answer, disabled while none is chosen, or why the run is read-only."""
    from analysis.runs.verdicts import why_fixed

    if fixed := why_fixed(run):
        st.caption(fixed, width="content")
        return
    made = "" if number is None else marks_of(run.answers.iloc[[_row(run, number)]])[0]
    for mark, label in _LABELS.items():
        if made != mark:
            _button(label, f"verdict_{mark.replace(' ', '_')}", name, number, mark)
    if made:
        _button("Undo", "verdict_undo", name, number, None)
    show_problem()


def show_problem() -> None:
    """Show why the last verdict was not stored, if it was not."""
    if error := st.session_state.pop(_PROBLEM, None):
        show_error(error)


def marks_of(answers: "pd.DataFrame") -> list[Mark | Literal[""]]:
    """Return what the user said of each of these answers of a run, "" where nothing."""
    said = zip(answers["corrected"], answers["quality"], strict=True)
    return [_mark(quality) if corrected else "" for corrected, quality in said]


def _mark(quality: float) -> Mark:
    return "left out" if np.isnan(quality) else "correct" if quality else "incorrect"


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """What a run says of one of its answers.

    `correct` is None where it is neither correct nor incorrect, or, for the `reason`, not judged: `unclear` and not
    read, left out `by_hand`, or undefined. `references`: correct answers as one line, "" without any.
    """

    correct: bool | None
    by_hand: bool
    references: str
    reason: str = ""
    unclear: bool = False


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
        correct=bool(quality) if row["corrected"] and not np.isnan(quality) else judged.thresholds.decide(quality),
        by_hand=bool(row["corrected"]),
        references=shortened(running(" | ".join(row["references"])), longest=_LONGEST),
        reason=running(row["quality_reason"]) if np.isnan(quality) else "",
        unclear=bool(row["unclear"]),
    )


def _button(label: str, key: str, name: str, number: int | None, mark: Mark | None) -> None:
    what = {"name": name, "number": number, "mark": mark}
    st.button(label, key=key, help=_HELP, disabled=number is None, on_click=_correct, kwargs=what)


def _correct(*, name: str, number: int, mark: Mark | None) -> None:
    if try_to_mark(name, number, mark):
        counts = {None: "undone", "left out": "saved: the answer is left out"}
        state.notify(f"Correction {counts.get(mark, f'saved: the answer counts as {mark}')}.")


def try_to_mark(name: str, number: int, mark: Mark | None) -> bool:
    """Mark an answer in its run, as `mark_in_run`; False, and `show_problem` shows why, if that fails."""
    try:
        mark_in_run(name, number, mark)
    except RauqError as error:
        st.session_state[_PROBLEM] = error
        return False
    return True


def mark_in_run(name: str, number: int, mark: Mark | None) -> None:
    """Correct a verdict in its run, or undo that with None; only runs of this session have a name here.

    Raises:
        InvalidInput: the verdicts of this run cannot be corrected.
        RunError: there is no such run, or the correction cannot be written.
    """
    from analysis.runs.verdicts import correct_verdict, leave_out

    if (folder := runs.folder(name)) is None:
        message = f"Run {name} not found. Choose another one."
        raise RunError(message)
    if mark == "left out":
        leave_out(cache.run(folder), number)
    else:
        correct_verdict(cache.run(folder), number, correct=None if mark is None else mark == "correct")


def _row(run: "Run", number: int) -> int:
    return int(np.flatnonzero(run.answers["number"] == number)[0])
