"""The runs that can be opened here, by name, the bundled one first. Their modules are imported on use."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.runs.library import Listed


def names() -> tuple[str, ...]:
    """Return the names of all runs."""
    return tuple(listed.name for listed in at_hand())


def folder(name: str) -> Path | None:
    """Return the folder of a run; None if there is no run of that name."""
    return next((listed.folder for listed in at_hand() if listed.name == name), None)


def at_hand() -> "tuple[Listed, ...]":
    """Return all runs, including damaged ones."""
    from analysis.runs.library import list_runs
    from pages.ui.host.session_runs import runs_folder

    listed = {run.name: run for run in reversed(list_runs(runs_folder()))}  # the first of two with the same name
    return tuple(reversed(listed.values()))
