"""The verdict on one answer of a run, beside its reference, and buttons that correct it; the run keeps corrections."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import printable, show_error
from rauq.errors import RauqError, RunError
from rauq.labels import number as written
from rauq.labels import running, shortened

if TYPE_CHECKING:
    from analysis.runs.opened import Run

_PROBLEM = "_verdict_problem"
_LONGEST = 200  # characters of the references
_HELP = "A corrected answer has quality 1 (correct) or 0 (incorrect) in every figure, table and export of this run."


def verdict(name: str, example: str) -> None:
    """Say how the answer of the run `name` to the example of this number is judged, and offer to correct that."""
    number, folder = url_state.number(example), runs.folder(name)
    if number is None or folder is None:
        return
    run = cache.run(folder)
    with st.container(horizontal=True, vertical_alignment="center", key="verdict"):
        st.text(printable(about_verdict(run, number)), width="content")
        verdict_buttons(run, name, number)


def verdict_buttons(run: "Run", name: str, number: int | None) -> None:
    """Buttons to correct the verdict on one answer, off while none is chosen; why not, where the run is fixed."""
    from analysis.runs.verdicts import why_fixed

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


def about_verdict(run: "Run", number: int) -> str:
    """The references of an answer, the verdict on it, and whose that is."""
    from analysis.quality.measures import measure

    row = run.answers.iloc[_row(run, number)]
    judged = measure(run.manifest.request.quality)
    shown = shortened(running(" | ".join(row["references"])), longest=_LONGEST)
    reference = f"Reference: {shown}" if shown else "No reference"
    measured = f"{judged.name}: {written(float(row['measured_quality']), places=2)}"
    if row["corrected"]:
        said = "correct, quality 1" if row["quality"] else "incorrect, quality 0"
        return f"{reference}. Marked by hand as {said}, which replaces what was measured ({measured})."
    quality, limits = float(row["quality"]), judged.thresholds
    if np.isnan(quality):
        return f"{reference}. Not judged: {running(row['quality_reason'])}."
    between = "neither correct nor incorrect"
    said = "correct" if quality > limits.correct else "incorrect" if quality < limits.incorrect else between
    return f"{reference}. Judged {said} ({measured})."


def _button(label: str, key: str, name: str, number: int | None, *, correct: bool | None) -> None:
    what = {"name": name, "number": number, "correct": correct}
    st.button(label, key=key, help=_HELP, disabled=number is None, on_click=_correct, kwargs=what)


def _correct(*, name: str, number: int, correct: bool | None) -> None:
    """Correct a verdict, in a run of this session alone: others have no name here."""
    from analysis.runs.verdicts import correct_verdict

    try:
        if (folder := runs.folder(name)) is None:
            message = f"The run {name} is no longer there. Choose another one."
            raise RunError(message)
        correct_verdict(cache.run(folder), number, correct=correct)
    except RauqError as error:
        st.session_state[_PROBLEM] = error
    else:
        said = "undone" if correct is None else f"kept: the answer counts as {'correct' if correct else 'incorrect'}"
        state.notify(f"Correction {said}.")


def _row(run: "Run", number: int) -> int:
    return int(np.flatnonzero(run.answers["number"] == number)[0])
