"""Taking in a run that was exported elsewhere, as a zip."""

import streamlit as st

from analysis.runs.archive import import_zip
from analysis.runs.library import runs_folder, slug
from pages.ui.runs import actions, place
from pages.ui.runs.starting import free_name

_HELP = "A larger archive is unpacked by hand, into a folder of its own beside the other runs."
_OPEN, _UPLOAD, _UPLOADS = "import_run", "import_run_", "_import_runs"


def field() -> None:
    """A button that opens a place for the zip; it is checked before anything of it appears in the list."""
    popover = st.popover("Import", key=_OPEN, width="stretch", on_change="rerun")
    if not popover.open:
        return
    key = f"{_UPLOAD}{st.session_state.get(_UPLOADS, 0)}"
    popover.file_uploader(
        "A run that was exported here or elsewhere",
        "zip",
        key=key,
        help=_HELP,
        on_change=_import,
        args=(key,),
    )


def _import(key: str) -> None:
    """Take the run in under the file's name; the field empties itself."""
    file = st.session_state[key]
    if file is None:
        return
    st.session_state[_UPLOADS] = st.session_state.get(_UPLOADS, 0) + 1
    name = free_name(slug(file.name.removesuffix(".zip")))
    if actions.attempt(lambda: import_zip(file, runs_folder(), name)):
        st.session_state[_OPEN] = False
        place.choose(name)
