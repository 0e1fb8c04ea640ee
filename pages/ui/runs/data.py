"""Where the examples of a new run come from, and a preview of them with every rejected row."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from analysis.datasets.example import DataSet, Example, Rejected
from analysis.datasets.names import EMBEDDED_SETS, FACT_FORMS, FACT_SETS, PLAIN, embedded_set, fact_set, load
from analysis.datasets.own_files import ENDINGS, LARGEST_UPLOAD
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.datasets.table import Table
from analysis.exports.csv_text import csv_table
from pages.ui.host import hosting, models, uploads
from pages.ui.host.hosting import ModelChoice
from pages.ui.runs.columns import data_set_of_columns, guess
from pages.ui.shared.errors import in_full, printable, show_error
from pages.ui.shared.model_form import checked, chosen_model
from pages.ui.shared.state import ATLAS
from rauq.errors import RauqError
from rauq.labels import lines, running
from rauq.trace.trace import Kind

_PROVISIONAL = "Until you answer the question, read as"
_FIRST = 100  # examples in the preview
_LONGEST = 2_000  # characters of a cell
_ROW, _HEAD = 35, 38  # pixels
_SHOWN_ROWS, _SHOWN_REJECTED = 9, 12

_COLUMNS: Mapping[str, Callable[[Example], Any]] = MappingProxyType(
    {
        "id": lambda example: example.id,
        "question": lambda example: example.asked,
        "answer": lambda example: example.answer or "",
        "references": lambda example: " | ".join(example.references),
        "quality": lambda example: example.quality,
        "group": lambda example: example.group,
        "stratum": lambda example: example.stratum,
        "error label": lambda example: example.error_label,
        "facts": lambda example: " | ".join(example.facts),
        "wrong": lambda example: " | ".join(example.wrong),
        "source": lambda example: example.source,
    }
)
# Long texts leave room for references and quality, on a small screen too.
_LONG = ("question", "answer", "references", "source", "facts", "wrong")
_WIDTHS = {name: st.column_config.Column(width=260 if name == "question" else 130) for name in _LONG}


def preview(data: DataSet, *, provisional: bool) -> None:
    """Show how the columns were read, how many rows are accepted, the first of these, and all rejected ones.

    `provisional`: something about the columns is still asked.
    """
    if data.understood:
        st.text(lines(f"{_PROVISIONAL if provisional else 'Read as'}: {data.understood}."))
    st.markdown(f"**{_rows(len(data.examples))} accepted, {_rows(len(data.rejected))} rejected.**")
    for note in data.notes:
        st.text(lines(note))
    if data.examples:
        st.dataframe(
            _table(data.examples[:_FIRST]),
            key="preview",
            height=_height(min(len(data.examples), _FIRST), _SHOWN_ROWS),
            hide_index=True,
            column_config=_WIDTHS,
            alt="The first accepted examples",
        )
        if len(data.examples) > _FIRST:
            st.caption(f"The first {_FIRST} are shown.")
        _first_prompt(data.examples[0])
    if data.rejected:
        _rejected(data.rejected)


def _first_prompt(example: Example) -> None:
    """Show the prompt of the first row as the model gets it, if it is more than the question."""
    if example.asked == example.prompt:
        return
    folded = st.expander("Prompt of the first row", key="first_prompt", on_change="rerun")
    if folded.open:
        with folded, st.container(height=240, border=False):
            st.text(lines(example.prompt))


def _rejected(rows: Sequence[Rejected]) -> None:
    table = pd.DataFrame({"row": [row.row for row in rows], "reason": [printable(row.reason) for row in rows]})
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption("Rejected rows, by their number in the data, with the reason", width="content")
        st.download_button(
            "Save as CSV",
            partial(csv_table, table),
            "rejected-rows.csv",
            "text/csv",
            key="save_rejected",
            on_click="ignore",
        )
    st.dataframe(
        table,
        key="rejected",
        height=_height(len(rows), _SHOWN_REJECTED),
        hide_index=True,
        column_config={
            "row": st.column_config.NumberColumn(width="small"),
            "reason": st.column_config.TextColumn(width=640),
        },
        alt="The rejected rows and their reasons",
    )
    in_full("Reasons in full", {row.row: row.reason for row in rows})


def _table(examples: Sequence[Example]) -> pd.DataFrame:
    """Return a table with a column for every field that at least one example has."""
    columns = {name: [_cell(read(example)) for example in examples] for name, read in _COLUMNS.items()}
    return pd.DataFrame(
        {name: cells for name, cells in columns.items() if any(cell not in {"", None} for cell in cells)}
    )


def _cell(value: Any) -> Any:  # noqa: ANN401 - a text or a number
    if not isinstance(value, str):
        return value
    return printable(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _height(rows: int, most: int) -> int:
    return _HEAD + _ROW * min(rows, most)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


NAME, COPY = "new_run_paper", "new_run_copy"
_LOADED = "_new_run_loaded"
_COPY_HELP = "A folder saved by the `datasets` library, or one with the data set's files. If empty, the hub is used."
_WORDING = (
    "The prompts are in our own words and formatted for the model of step 3. Nothing is read before you click Load."
)


class _Asked(NamedTuple):
    name: str
    model: ModelChoice


def data_set_of_paper() -> DataSet | None:
    """Draw the choice; return the data set once it is loaded.

    Raises:
        RauqError: it could not be loaded.
    """
    st.session_state.setdefault(NAME, next(iter(PAPER_SETS)))
    name = st.selectbox(
        "Data set of the paper",
        tuple(PAPER_SETS),
        key=NAME,
        format_func=lambda name: PAPER_SETS[name].title,
        label_visibility="collapsed",
        persist_state="session",
    )
    copy = st.text_input(
        "Folder of a copy", key=COPY, placeholder="From the hub", help=_COPY_HELP, persist_state="session"
    )
    asked = _Asked(f"{name}={copy.strip()}" if copy.strip() else name, chosen_model())
    if st.button("Load", key="load_paper_set"):
        with st.spinner("Reading the data set"):
            st.session_state[_LOADED] = asked, _load(asked)
    kept_for, loaded = st.session_state.get(_LOADED, (None, None))
    if kept_for != asked:
        st.caption(_WORDING)
        return None
    if isinstance(loaded, RauqError):
        raise loaded
    return loaded


def _load(asked: _Asked) -> DataSet | RauqError:
    try:
        return load(asked.name, kind=asked.model.kind or models.inspect_model(asked.model).kind)
    except RauqError as error:
        return error


FILE, TWO_FILES, EMBEDDED, FACTS, PAPER = "A file", "Two files", "Embedded", "Facts", "The paper's"
SOURCE, EMBEDDED_NAME, FACTS_NAME = "new_run_source", "new_run_embedded", "new_run_facts"
ANSWERS, CORRECT, INCORRECT = "answers", "correct", "incorrect"
_UPLOAD, _READ = "new_run_upload_", "_new_run_read_"
_ONE = "CSV, JSONL, Excel or Parquet: one row for each prompt, with answers to score, or without."
_TWO = "One file of correct answers and one of incorrect answers, with the same columns."


def data_fields() -> DataSet | None:
    """Draw the choice; return the data set, or None if there is none yet.

    Raises:
        RauqError: columns that cannot be combined, or examples that could not be loaded.
    """
    st.session_state.setdefault(SOURCE, FILE)
    offered = tuple(
        name for name in _FIELDS if name != PAPER or not hosting.is_hosted()
    )  # the paper's sets are downloaded
    source = st.segmented_control(
        "Data", offered, key=SOURCE, required=True, label_visibility="collapsed", persist_state="session"
    )
    return _FIELDS[source or FILE]()


def _file() -> DataSet | None:
    table = _uploader(ANSWERS, _ONE)
    return data_set_of_columns(table) if table else None


def _two_files() -> DataSet | None:
    st.caption(_TWO)
    left, right = st.columns(2, gap="small")
    with left:
        correct = _uploader(CORRECT, "Correct")
    with right:
        incorrect = _uploader(INCORRECT, "Incorrect")
    return data_set_of_columns(correct, incorrect) if correct and incorrect else None


def _embedded() -> DataSet:
    names = tuple(EMBEDDED_SETS)
    st.session_state.setdefault(EMBEDDED_NAME, names[0])
    st.selectbox("Embedded set", names, key=EMBEDDED_NAME, label_visibility="collapsed", persist_state="session")
    st.caption("Prompts held out from the embedded model's training, with exact references. atlas: all three families.")
    return embedded_set(st.session_state[EMBEDDED_NAME])


def _facts() -> DataSet:
    st.session_state.setdefault(FACTS_NAME, FACT_SETS[0])
    name = st.selectbox(
        "Form",
        FACT_SETS,
        key=FACTS_NAME,
        format_func=FACT_FORMS.__getitem__,
        label_visibility="collapsed",
        persist_state="session",
    )
    kind = _kind()
    wording = f"Worded for {kind} models." if name == PLAIN else "No chat template is applied."
    st.caption(f"Questions about plain facts, each with its accepted answers. {wording}")
    return fact_set(name, kind=kind)


def _kind() -> Kind:
    """What prompts are worded for: the model's kind, or instruct as long as the model is neither checked nor atlas."""
    choice = chosen_model()
    if choice.kind:
        return choice.kind
    model_info = checked(choice)
    return model_info.kind if model_info else "base" if choice.name == ATLAS else "instruct"


_FIELDS: Mapping[str, Callable[[], DataSet | None]] = MappingProxyType(
    {FILE: _file, TWO_FILES: _two_files, EMBEDDED: _embedded, FACTS: _facts, PAPER: data_set_of_paper}
)


def _uploader(field: str, label: str) -> Table | None:
    """Draw an upload field; return the table read from it, which is kept when the user visits another page."""
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
    if read is not None and file is None:  # the field is cleared when the user visits another page
        st.text(printable(f"{running(read.name)}, uploaded before"))
    return read


def _read(field: str) -> None:
    """Read the uploaded file and choose the columns again by their names."""
    st.session_state.pop(_READ + field, None)
    if (file := uploads.uploaded(_UPLOAD + field)) is None:
        return
    try:
        table = uploads.read_table(file.getvalue(), file.name)
    except RauqError as error:
        st.session_state[_READ + field] = error
    else:
        st.session_state[_READ + field] = table
        if field != INCORRECT:  # the columns of both files are those of the correct answers
            guess(table, answered=field == CORRECT)
