"""The user's verdicts on the answers of a run."""

import numpy as np

from analysis.runs.files.corrections import add_correction, correction, remove_correction
from analysis.runs.library import bundled_folder
from analysis.runs.opened import Run
from rauq.errors import InvalidInput


def why_fixed(run: Run) -> str:
    """Why the verdicts of a run cannot be corrected; empty where they can."""
    if run.folder == bundled_folder():
        return (
            "The run that came with the app cannot be changed. To correct its verdicts, export it on the page Runs and "
            "import the archive under another name."
        )
    quality = run.answers["measured_quality"].to_numpy(dtype=float)
    known = quality[np.isfinite(quality)]
    if run.manifest.request.quality == "given" and ((known < 0) | (known > 1)).any():
        return (
            "The quality that came with these answers is not on a scale from 0 to 1, so a verdict of 1 or 0 does not "
            "fit. Correct it in the file, and score the file again."
        )
    return ""


def correct_verdict(run: Run, number: int, *, correct: bool | None) -> None:
    """Correct the verdict on the answer to the example `number`; None undoes the correction.

    Raises:
        InvalidInput: there is no such answer, or the verdicts of this run cannot be corrected.
        RunError: the corrections are damaged, or cannot be written.
    """
    if correct is None:
        _correctable(run, number)
        remove_correction(run.folder, number)
    else:
        add_correction(run.folder, correction(number, _correctable(run, number), correct=correct))


def leave_out(run: Run, number: int) -> None:
    """Leave the answer to the example `number` out of every figure: nobody can say whether it is correct.

    Raises:
        InvalidInput, RunError: as `correct_verdict`.
    """
    add_correction(run.folder, correction(number, _correctable(run, number), correct=None))


def _correctable(run: Run, number: int) -> str:
    """The answer to the example `number`, if its verdict can be corrected."""
    rows = np.flatnonzero(run.answers["number"] == number)
    if reason := why_fixed(run) or ("" if rows.size else f"There is no answer {number} in this run."):
        raise InvalidInput(reason)
    return str(run.answers["answer"].iloc[rows[0]])


def about_corrections(run: Run) -> str:
    """How many verdicts were corrected, as a sentence; empty where none was."""
    count = int(run.answers["corrected"].sum())
    said = f"{count:,} verdict{'' if count == 1 else 's'} corrected by hand." if count else ""
    if run.outdated_corrections:
        left = run.outdated_corrections
        said += (
            f" {left:,} correction{' is' if left == 1 else 's are'} not used: the answer has changed since, or is "
            "missing."
        )
    return said.strip()
