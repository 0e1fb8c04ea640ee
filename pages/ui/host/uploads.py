"""Files that are uploaded to be read: by the app itself, or on a host by a process of its own, one for each visitor."""

from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.host import hosting
from pages.ui.host.store import store, visitor
from rauq.errors import InvalidInput

if TYPE_CHECKING:
    from analysis.datasets.table import Table


def uploaded(key: str) -> UploadedFile | None:
    """Return the file in a field; None if there is none, or if the server no longer holds it."""
    file = st.session_state[key]
    return file if isinstance(file, UploadedFile) else None


def read_table(content: bytes, name: str) -> "Table":
    """Read the table of an uploaded data set.

    Raises:
        InvalidInput: it is not a table, it is too large, or too many uploads are being read.
    """
    from analysis.datasets import own_files

    if not hosting.is_hosted():
        return own_files.read_table(content, name)
    from analysis.uploads import readers  # which only a system with such limits can import

    most = hosting.limits()
    with store().upload_slots.place(visitor()):
        return readers.read_table(content, name, rows=most.rows, characters=most.characters)


def import_run(archive: IO[bytes], root: Path, name: str) -> Path:
    """Import the archive of a run and return its folder.

    Raises:
        RauqError: it is not an archive of a run, the host does not allow it, or too many uploads are being read.
    """
    from analysis.runs.archive import import_zip, place_run

    if not hosting.is_hosted():
        return import_zip(archive, root, name)
    with store().upload_slots.place(visitor()):
        return place_run(root, name, partial(_fill, archive))


def _fill(archive: IO[bytes], folder: Path) -> None:
    from analysis.quality.measures import MEASURES
    from analysis.runs.archive import Bounds
    from analysis.runs.manifest import read_manifest
    from analysis.uploads.readers import fill_run

    most = hosting.limits()
    fill_run(folder, archive, bounds=Bounds(unpacked=most.archive, rows=most.rows, characters=most.characters))
    judged = MEASURES.get(read_manifest(folder).request.quality)
    if judged is not None and "weights" in judged.needs:
        message = f"The quality of this run is {judged.name}, which needs weights that this host does not have."
        raise InvalidInput(message)
