"""Which column of an uploaded table means what: guessed from the names, changed by the user."""

from dataclasses import asdict, fields, replace

import streamlit as st

from analysis.datasets.example import DataSet
from analysis.datasets.own_files import Columns, correct_and_incorrect, examples_from, guess_columns
from analysis.datasets.table import Table
from pages.ui.errors import printable
from rauq.labels import running

_COLUMN, _MADE = "new_run_column_", "_new_run_made"
_REFERENCES = "references"
_LABELS = {
    "prompt": "Prompt",
    "answer": "Answer to score",
    "quality": "Quality, a number",
    "correct": "Correct or not",
    "group": "Group",
    "stratum": "Stratum",
    "error_label": "Kind of error",
    "facts": "Facts",
    "source": "Source text",
    "question": "Question alone",
    "id": "Id",
}
_HELP = {
    "answer": "Leave it empty, and the model answers.",
    "quality": "How good the answer is; higher is better.",
    "correct": "true or false, 1 or 0, yes or no, right or wrong.",
    "group": "Tells tasks or languages apart in the figures.",
    "stratum": "Tells rows of a group apart, such as easy and hard ones.",
    "error_label": "Such as factual or reasoning, as in the paper's error analysis.",
    "facts": "Texts that carry the fact, wherever they stand in the answer.",
    "source": "What a summary or a translation is made from.",
    "question": "The prompt without worked examples; some measures need it.",
    "id": "Without one, rows are known by their number.",
}
_MORE = ("group", "stratum", "error_label", "facts", "source", "question", "id")


def data_set(table: Table, incorrect: Table | None = None) -> DataSet:
    """Draw the columns of a table, and of a second one of incorrect answers; the examples that they lead to.

    Raises:
        InvalidInput: columns that do not go together.
    """
    _fields(table, judged=incorrect is None)
    return _made(table, incorrect, _chosen())


def guess(table: Table, *, answered: bool = False) -> None:
    """Choose what the columns' names suggest; `answered`: there has to be a column of answers."""
    columns = guess_columns(table)
    if answered and columns.references and not columns.answer:
        columns = replace(columns, answer=columns.references[0], references=())
    for name, value in asdict(columns).items():
        st.session_state[_COLUMN + name] = list(value) if name == _REFERENCES else value


def _fields(table: Table, *, judged: bool) -> None:
    """`judged`: whether columns may say how good the answers are."""
    _column("prompt", table)
    left, right = st.columns(2, gap="small")
    with left:
        _references(table)
    with right:
        _column("answer", table)
    if judged and st.session_state.get(_COLUMN + "answer"):
        with left:
            _column("quality", table)
        with right:
            _column("correct", table)
    used = [_LABELS[name].lower() for name in _MORE if st.session_state.get(_COLUMN + name)]
    with st.expander(f"More columns: {', '.join(used)}" if used else "More columns"):
        places = st.columns(2, gap="small")
        for number, name in enumerate(_MORE):
            with places[number % 2]:
                _column(name, table)


def _references(table: Table) -> None:
    st.multiselect(
        "References",
        table.columns,
        key=_COLUMN + _REFERENCES,
        format_func=_shown,
        placeholder="No column",
        help="What a good answer is; several columns, or a list in one, are several references.",
        persist_state="session",
    )


def _column(name: str, table: Table) -> None:
    st.selectbox(
        _LABELS[name],
        table.columns,
        index=0 if name == "prompt" else None,
        key=_COLUMN + name,
        format_func=_shown,
        help=_HELP.get(name),
        placeholder="No column",
        persist_state="session",
    )


def _shown(column: str) -> str:
    return printable(running(column))


def _chosen() -> Columns:
    values = {field.name: st.session_state.get(_COLUMN + field.name) for field in fields(Columns)}
    return Columns(**values | {_REFERENCES: tuple(values[_REFERENCES] or ())})


def _made(table: Table, incorrect: Table | None, columns: Columns) -> DataSet:
    """The examples; they are made once, since a run of the page is over before 100,000 rows are."""
    asked = (table, incorrect, columns)  # tables are equal where they are the same
    if (kept := st.session_state.get(_MADE)) is not None and kept[0] == asked:
        made: DataSet = kept[1]
        return made
    made = correct_and_incorrect(table, incorrect, columns) if incorrect else examples_from(table, columns)
    st.session_state[_MADE] = (asked, made)
    return made
