"""Which columns of an uploaded table hold what: as understood, asked about, and chosen by hand."""

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import streamlit as st

from analysis.datasets.columns import SEPARATORS, SEVERAL, Columns
from analysis.datasets.example import DataSet
from analysis.datasets.rows import correct_and_incorrect, examples_from
from analysis.datasets.table import Table
from analysis.datasets.understood import Doubt, Option, for_two_files, understand
from pages.ui.shared.errors import printable
from rauq.labels import running

_COLUMN, _MADE, _DOUBTS, _CHOICE = "new_run_column_", "_new_run_made", "_new_run_doubts", "new_run_doubt_"
_LABELS = MappingProxyType(
    {
        "prompt": "Prompt",
        "references": "References",
        "separator": "Between references",
        "answer": "Answer to score",
        "quality": "Quality, a number",
        "correct": "Correct or not",
        "incorrect": "Incorrect or not",
        "choices": "Choices",
        "group": "Group",
        "stratum": "Stratum",
        "error_label": "Kind of error",
        "facts": "Facts",
        "wrong": "Wrong texts",
        "source": "Source text",
        "question": "Question only",
        "id": "Id",
    }
)
_HELP = MappingProxyType(
    {
        "prompt": "Several columns are joined in this order. A column may hold conversations.",
        "references": "Correct answers; several columns, or a list in one column, give several references.",
        "separator": "What stands between several references in one cell. Lists are recognised without it.",
        "answer": "If empty, the model generates the answer.",
        "quality": "Quality of the answer; higher is better.",
        "correct": "true or false, 1 or 0, yes or no, pass or fail: yes means correct.",
        "incorrect": "The same, where yes means incorrect, as in a column called hallucination.",
        "choices": "For multiple choice: a list in one column, or one column for each choice. They follow the prompt.",
        "group": "Separates tasks or languages in the figures.",
        "stratum": "Separates rows within a group, such as easy and hard ones.",
        "error_label": "For example factual or reasoning, as in the paper's error analysis.",
        "facts": "Texts that carry the fact, wherever they occur in the answer.",
        "wrong": "Texts in the given answer that are incorrect, for the view Wrong tokens.",
        "source": "The text that is summarised or translated.",
        "question": "The prompt without worked examples; some measures need it.",
        "id": "Without one, rows are identified by their number.",
    }
)
_JUDGING = ("quality", "correct", "incorrect")
_MORE = ("separator", "choices", "group", "stratum", "error_label", "facts", "wrong", "source", "question", "id")
_TURN_HELP = "Exchange what the values of the verdict mean."


def guess(table: Table, *, answered: bool = False) -> None:
    """Choose columns by their names and cells; `answered`: two files, of answers that need no verdict."""
    found = for_two_files(table) if answered else understand(table)
    for field in fields(Columns):
        st.session_state[_COLUMN + field.name] = _value(found.columns, field.name)
    st.session_state[_DOUBTS] = found.doubts


def _value(columns: Columns, name: str) -> Any:  # noqa: ANN401 - a column, several, or none
    return list(columns.of(name)) if name in SEVERAL else getattr(columns, name) or None


def open_doubts() -> tuple[Doubt, ...]:
    """Return what has to be answered before a run can start."""
    doubts: tuple[Doubt, ...] = st.session_state.get(_DOUBTS, ())
    return doubts


def data_set_of_columns(table: Table, incorrect: Table | None = None) -> DataSet:
    """Draw the choice of columns of a table, and of a second one of incorrect answers; return the examples.

    Raises:
        InvalidInput: columns that cannot be combined.
    """
    for number, doubt in enumerate(open_doubts()):
        _ask(doubt, number)
    _fields(table, judged=incorrect is None)
    return _made(table, incorrect, _chosen())


def _ask(doubt: Doubt, number: int) -> None:
    with st.container(border=True, key=f"doubt_{number}"):
        st.text(_shown(doubt.question))  # radio buttons would read it, and the options, as Markdown
        st.selectbox(
            "Reading",
            doubt.options,
            index=None,
            key=f"{_CHOICE}{number}",
            format_func=lambda option: _shown(option.label),
            placeholder="Choose",
            label_visibility="collapsed",
            on_change=_decide,
            args=(number,),
        )


def _decide(number: int) -> None:
    """Set the fields of the reading that was chosen; the question is then answered."""
    option: Option | None = st.session_state.pop(f"{_CHOICE}{number}", None)
    doubts = open_doubts()
    if option is None or number >= len(doubts):
        return
    for name, value in option.fields.items():
        several = value or () if isinstance(value, tuple) or value is None else (value,)
        st.session_state[_COLUMN + name] = list(several) if name in SEVERAL else value
    st.session_state[_DOUBTS] = doubts[:number] + doubts[number + 1 :]


def _settle(name: str) -> None:
    """A field that was chosen by hand answers what was asked about it."""
    st.session_state[_DOUBTS] = tuple(doubt for doubt in open_doubts() if name not in doubt.options[0].fields)


def _fields(table: Table, *, judged: bool) -> None:
    """Draw the fields; `judged`: whether columns may give the quality of the answers."""
    _field("prompt", table)
    left, right = st.columns(2, gap="small")
    with left:
        _field("references", table)
    with right:
        _field("answer", table)
    if judged and _has_answers():
        _judging_fields(table)
    used = [_LABELS[name].lower() for name in _MORE if st.session_state.get(_COLUMN + name)]
    with st.expander(f"More columns: {', '.join(used)}" if used else "More columns"):
        places = st.columns(2, gap="small")
        for number, name in enumerate(_MORE):
            with places[number % 2]:
                _field(name, table)


def _has_answers() -> bool:
    chosen = st.session_state.get(_COLUMN + "answer")
    return bool(chosen or any(st.session_state.get(_COLUMN + name) for name in _JUDGING))


def _judging_fields(table: Table) -> None:
    for place, name in zip(st.columns(3, gap="small"), _JUDGING, strict=True):
        with place:
            _field(name, table)
    if any(st.session_state.get(_COLUMN + side) for side in ("correct", "incorrect")):
        st.button("Swap correct and incorrect", key="turn_verdict", type="tertiary", on_click=_turn, help=_TURN_HELP)


def _turn() -> None:
    correct, incorrect = (_COLUMN + side for side in ("correct", "incorrect"))
    state = st.session_state
    state[correct], state[incorrect] = state.get(incorrect), state.get(correct)


def _field(name: str, table: Table) -> None:
    options = tuple(SEPARATORS) if name == "separator" else table.columns
    common: dict[str, Any] = {
        "key": _COLUMN + name,
        "format_func": _shown,
        "help": _HELP[name],
        "persist_state": "session",
        "on_change": _settle,
        "args": (name,),
    }
    if name in SEVERAL:
        st.multiselect(_LABELS[name], options, placeholder="No column", **common)
    else:
        nothing = "Nothing" if name == "separator" else "No column"
        st.selectbox(_LABELS[name], options, index=None, placeholder=nothing, **common)


def _shown(text: str) -> str:
    return printable(running(text))


def _chosen() -> Columns:
    values = {field.name: st.session_state.get(_COLUMN + field.name) for field in fields(Columns)}
    several = {name: tuple(values[name] or ()) for name in SEVERAL}
    prompts = several["prompt"]
    several["prompt"] = prompts[0] if len(prompts) == 1 else prompts
    return Columns(**values | several | {"separator": values["separator"] or ""})


def _made(table: Table, incorrect: Table | None, columns: Columns) -> DataSet:
    """Return the examples, built once per choice, since building 100,000 rows outlasts a script run."""
    asked = (table, incorrect, columns)  # tables are equal only if identical
    if (kept := st.session_state.get(_MADE)) is not None and kept[0] == asked:
        made: DataSet = kept[1]
        return made
    made = correct_and_incorrect(table, incorrect, columns) if incorrect else examples_from(table, columns)
    st.session_state[_MADE] = (asked, made)
    return made
