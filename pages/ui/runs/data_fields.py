"""Where the examples of a new run come from: a file, two files, an embedded set, or one of the paper's."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from analysis.datasets.example import DataSet
from analysis.datasets.names import EMBEDDED_SETS, embedded_set
from analysis.datasets.reading import ENDINGS, LARGEST_UPLOAD, read_table
from analysis.datasets.table import Table
from pages.ui import hosting
from pages.ui.errors import printable, show_error
from pages.ui.runs import column_fields, paper_fields
from rauq.errors import RauqError
from rauq.labels import running

FILE, TWO_FILES, EMBEDDED, PAPER = "A file", "Two files", "Embedded", "The paper's"
SOURCE, EMBEDDED_NAME = "new_run_source", "new_run_embedded"
ANSWERS, CORRECT, INCORRECT = "answers", "correct", "incorrect"
_UPLOAD, _READ = "new_run_upload_", "_new_run_read_"
_ONE = "CSV, JSONL or Parquet: one row for each prompt, with answers to score, or without."
_TWO = "One file of correct answers, one of incorrect ones, with the same columns."


def data_fields() -> DataSet | None:
    """Draw the choice; the data set that it leads to, or None where it leads to none yet.

    Raises:
        RauqError: columns that do not go together, or examples that could not be had.
    """
    st.session_state.setdefault(SOURCE, FILE)
    offered = tuple(name for name in _FIELDS if name != PAPER or not hosting.is_hosted())  # its sets are downloaded
    source = st.segmented_control(
        "Data", offered, key=SOURCE, required=True, label_visibility="collapsed", persist_state="session"
    )
    return _FIELDS[source or FILE]()


def _file() -> DataSet | None:
    table = _uploader(ANSWERS, _ONE)
    return column_fields.data_set(table) if table else None


def _two_files() -> DataSet | None:
    st.caption(_TWO)
    left, right = st.columns(2, gap="small")
    with left:
        correct = _uploader(CORRECT, "Correct")
    with right:
        incorrect = _uploader(INCORRECT, "Incorrect")
    return column_fields.data_set(correct, incorrect) if correct and incorrect else None


def _embedded() -> DataSet:
    names = tuple(EMBEDDED_SETS)
    st.session_state.setdefault(EMBEDDED_NAME, names[0])
    st.selectbox("Embedded set", names, key=EMBEDDED_NAME, label_visibility="collapsed", persist_state="session")
    st.caption("Prompts that the embedded model never saw in training, with exact truth. atlas is all three families.")
    return embedded_set(st.session_state[EMBEDDED_NAME])


_FIELDS: Mapping[str, Callable[[], DataSet | None]] = MappingProxyType(
    {FILE: _file, TWO_FILES: _two_files, EMBEDDED: _embedded, PAPER: paper_fields.data_set}
)


def _uploader(field: str, label: str) -> Table | None:
    """A place for a file; the table that was read from it, which outlasts a look at another page."""
    file = st.file_uploader(
        label,
        [ending.removeprefix(".") for ending in ENDINGS],
        key=_UPLOAD + field,
        max_upload_size=LARGEST_UPLOAD // 2**20,  # megabytes
        on_change=_read,
        args=(field,),
    )
    read: Table | RauqError | None = st.session_state.get(_READ + field)
    if isinstance(read, RauqError):
        show_error(read)
        return None
    if read is not None and file is None:  # the field forgets it when the user looks at another page
        st.text(printable(f"{running(read.name)}, as it was uploaded before"))
    return read


def _read(field: str) -> None:
    """Read what was uploaded; the columns are guessed anew from it."""
    st.session_state.pop(_READ + field, None)
    if (file := st.session_state[_UPLOAD + field]) is None:
        return
    try:
        table = read_table(file.getvalue(), file.name)
    except RauqError as error:
        st.session_state[_READ + field] = error
    else:
        st.session_state[_READ + field] = table
        if field != INCORRECT:  # the correct ones name the columns of both
            column_fields.guess(table, answered=field == CORRECT)
