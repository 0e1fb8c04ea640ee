"""Taking in a run that was exported elsewhere, as a zip."""

from typing import IO

import streamlit as st

from analysis.runs.archive import LARGEST_ARCHIVE, import_zip
from analysis.runs.library import slug
from pages.ui import hosting
from pages.ui.runs import actions, place
from pages.ui.runs.starting import free_name
from pages.ui.session_runs import make_room, runs_folder

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
        help=None if hosting.is_hosted() else _HELP,
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
    if actions.attempt(lambda: _take_in(file, name)):
        st.session_state[_OPEN] = False
        place.choose(name)


def _take_in(file: IO[bytes], name: str) -> None:
    make_room()
    import_zip(file, runs_folder(), name, largest=min(LARGEST_ARCHIVE, hosting.limits().archive))
