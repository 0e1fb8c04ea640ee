"""The runs that can be opened here, by name: the bundled one first. What is needed for them is imported late."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.runs.library import Listed


def names() -> tuple[str, ...]:
    """The names of all runs."""
    return tuple(listed.name for listed in at_hand())


def folder(name: str) -> Path | None:
    """Where a run lies; None where there is none of that name."""
    return next((listed.folder for listed in at_hand() if listed.name == name), None)


def at_hand() -> "tuple[Listed, ...]":
    """All runs, broken ones too."""
    from analysis.runs.library import list_runs
    from pages.ui.host.session_runs import runs_folder

    listed = {one.name: one for one in reversed(list_runs(runs_folder()))}  # of two of one name, the first
    return tuple(reversed(listed.values()))
