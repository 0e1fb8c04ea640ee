"""Scores that were made elsewhere: a file of labelled answers or tokens, and what is left of one of its columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import pandas as pd
import streamlit as st

from analysis.datasets.columns import Columns
from analysis.datasets.own_files import ENDINGS, LARGEST_UPLOAD
from analysis.datasets.table import Table
from analysis.datasets.understood import understand
from analysis.exports.csv_text import csv_table
from analysis.methods.comparison import RAUQ, name_of
from analysis.survival.answers import number_columns, of_run
from analysis.survival.asked import signals_of_table
from analysis.survival.export import ladders_page
from analysis.survival.labelled import ANSWERS, TOKENS, Level, LevelName
from analysis.survival.ladder import ladder_of
from analysis.survival.sentences import more, verdict, verdict_claim
from analysis.views.survival import Survived, ladder_pictures, ladder_tables
from pages.ui.host import hosting, uploads
from pages.ui.methods.choices import Chosen
from pages.ui.shared import words
from pages.ui.shared.errors import printable, show_error
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import chart, save
from pages.ui.shared.run_views.tables import show_frame, take_along
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running
from rauq.layout import RAUQ_COMMAND

_UPLOAD, _SIGNAL, _FIELD = "own_scores_file", "own_scores_signal", "own_scores_"
_READ, _KNOWN, _JUDGED = "_own_scores_read", "_own_scores_known", "_own_scores_judged"
_WHAT = (
    "One row for each answer, sentence or claim, with its question, whether it is incorrect, and your score; or for "
    "each token. Higher means less certain. No model is needed."
)
_HOSTED = "Fitting the controls takes this host too long. With the app on your own machine, or by the command line:"
_COMMAND = f"{RAUQ_COMMAND} survive scores.csv --signal my_score"
_FIELDS = MappingProxyType(
    {
        "prompt": "Question",
        "answer": "Answer",
        "incorrect": "Incorrect or not",
        "correct": "or: correct or not",
        "quality": "or: quality, a number",
        "group": "Group",
        "references": "Correct answers",
        "source": "Document",
    }
)
_NO_VERDICT = "Which column says which answers are incorrect? Choose it under Columns."
_MOST_EXAMPLES = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class _File:
    """The table of a file, and which of its columns can be a score."""

    table: Table
    numbers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A column of a table to be judged, and which columns hold what; tables are equal only if identical."""

    table: Table
    signal: str
    level: Level
    columns: Columns | None


def own_scores(chosen: Chosen) -> None:
    """Draw the field for a file, which of its columns is judged, and what is left of it."""
    st.header("Does your own score survive?", anchor=False)
    st.caption(_WHAT)
    if hosting.is_hosted():
        st.write(_HOSTED)
        st.code(_COMMAND, language="bash")
        return
    if (file := _uploader(chosen)) is not None and (asked := _asked(file)) is not None:
        _judge(asked)


def _uploader(chosen: Chosen) -> _File | None:
    """Draw the field for a file and an example of one; return what was read from it."""
    file = st.file_uploader(
        "Your file",
        [ending.removeprefix(".") for ending in ENDINGS],
        key=_UPLOAD,
        max_upload_size=LARGEST_UPLOAD // 2**20,  # megabytes
        on_change=_read,
        label_visibility="collapsed",
    )
    read: _File | RauqError | None = st.session_state.get(_READ)
    if isinstance(read, RauqError):
        show_error(read)
    if not isinstance(read, _File):
        save("Example file", "scores.csv", partial(_example, chosen))
        return None
    if file is None:  # the field is cleared when the user visits another page
        st.text(printable(f"{running(read.table.name)}, uploaded before"))
    return read


def _read() -> None:
    for key in [key for key in st.session_state if str(key).startswith(_FIELD) and key != _UPLOAD]:
        del st.session_state[key]
    st.session_state.pop(_READ, None)
    if (file := uploads.uploaded(_UPLOAD)) is not None:
        try:
            st.session_state[_READ] = _file_of(uploads.read_table(file.getvalue(), file.name))
        except RauqError as error:
            st.session_state[_READ] = error


def _file_of(table: Table) -> _File:
    """What a table can be judged by.

    Raises:
        InvalidInput: no column can be a score.
    """
    if numbers := number_columns(table):
        return _File(table=table, numbers=numbers)
    message = f"{table.name} has no column of numbers that differ. Your score has to be one, higher where less certain."
    raise InvalidInput(message)


def _example(chosen: Chosen) -> str:
    """Answers of the run with the score of a method, as a file of one's own may look."""
    given, rows = of_run(chosen.run, thresholds=chosen.thresholds)
    method = RAUQ if RAUQ in chosen.run.methods else chosen.run.methods[0]
    frame = pd.DataFrame(
        {
            "question": given.questions,
            "answer": given.texts,
            "incorrect": given.incorrect.astype(int),
            "group": given.groups,
            name_of(method): chosen.run.uncertainty(method)[rows],
        }
    )
    return csv_table(frame.sample(min(len(frame), _MOST_EXAMPLES), random_state=0).sort_index())


def _asked(file: _File) -> _Asked | None:
    """Draw what is judged, and which columns hold what; None while something is to be chosen."""
    table, numbers = file.table, file.numbers
    with st.container(horizontal=True, vertical_alignment="bottom"):
        signal = st.selectbox(
            "Your score", numbers, index=_likely(table, numbers), key=_SIGNAL, format_func=_shown, width=320
        )
        if _are_tokens(table):
            return _Asked(table=table, signal=signal, level=TOKENS, columns=None)
        columns = _columns(table, signal)
    if columns is None or not columns.judged:
        st.text(_NO_VERDICT)
        return None
    return _Asked(table=table, signal=signal, level=ANSWERS, columns=columns)


def _are_tokens(table: Table) -> bool:
    """Whether each row is a token: by default where its columns say so, and as the user decides."""
    if not {"id", "token"} <= set(table.columns):
        return False
    return st.segmented_control("Rows", (TOKENS.name, ANSWERS.name), default=TOKENS.name, key=f"{_FIELD}rows") != (
        ANSWERS.name
    )


def _likely(table: Table, numbers: tuple[str, ...]) -> int:
    """The first column of numbers of which more than two differ, else the first."""
    return next((place for place, name in enumerate(numbers) if table.rows[name].nunique() > 2), 0)


def _columns(table: Table, signal: str) -> Columns | None:
    """Draw which of the other columns hold what, as their names tell until the user says something else."""
    known, others = _known(table, signal), [name for name in table.columns if name != signal]
    with st.popover("Columns", key=f"{_FIELD}columns"):
        chosen = {name: _field(name, label, others, known) for name, label in _FIELDS.items()}
    if (prompt := chosen["prompt"]) is None:
        return None
    incorrect = chosen["incorrect"]
    correct = None if incorrect else chosen["correct"]
    return Columns(
        prompt=prompt,
        answer=chosen["answer"],
        incorrect=incorrect,
        correct=correct,
        quality=None if incorrect or correct else chosen["quality"],
        group=chosen["group"],
        references=() if (references := chosen["references"]) is None else (references,),
        source=chosen["source"],
    )


def _known(table: Table, signal: str) -> Columns:
    """What the names and cells of the other columns tell, found once: of many rows, that takes seconds."""
    kept = st.session_state.get(_KNOWN)
    if kept is None or kept[:2] != (table, signal):
        others = replace(table, rows=table.rows.drop(columns=[signal]))
        kept = st.session_state[_KNOWN] = table, signal, understand(others).columns
    found: Columns = kept[2]
    return found


def _field(name: str, label: str, options: Sequence[str], known: Columns) -> str | None:
    usual = next(iter(known.of(name)), None)
    index = options.index(usual) if usual in options else None
    return st.selectbox(label, options, index=index, key=f"{_FIELD}{name}", format_func=_shown, placeholder="No column")


def _shown(text: str) -> str:
    return printable(running(text))


def _judge(asked: _Asked) -> None:
    """Fit the controls once the user asks for it, and draw what they leave."""
    pressed = st.button("Judge", key=f"{_FIELD}judge", type="primary")
    if pressed:
        with st.spinner("Fitting the controls"):
            st.session_state[_JUDGED] = asked, _judged(asked)
    kept, found = st.session_state.get(_JUDGED, (None, None))
    if kept == asked and found is not None:
        _draw(found, asked)


def _judged(asked: _Asked) -> Survived:
    try:
        level: LevelName = "tokens" if asked.level is TOKENS else "answers"
        given, (signal,) = signals_of_table(asked.table, [asked.signal], level=level, columns=asked.columns)
        return Survived(ladder=ladder_of(given, signal))
    except InvalidInput as error:
        return Survived(ladder=None, reason=str(error))


def _draw(found: Survived, asked: _Asked) -> None:
    if (ladder := found.ladder) is None:
        show_error(InvalidInput(found.reason))
        return
    said = replace(ladder, signal="your score")  # the name of a column would be read as Markdown
    claim, numbers = verdict_claim(said), (verdict(said), more(said))
    st.header(claim, anchor=False)
    counted = f"{ladder.units:,} {ladder.level.name}: {ladder.incorrect:,} incorrect."
    st.caption(counted, help=words.explained(claim, *numbers))
    with st.expander("In numbers", key="own_scores_numbers"):
        st.caption("  \n".join(numbers))
    pictures = ladder_pictures(found, asked.level, name="own_scores")
    for place, picture in zip(st.columns([one.share for one in pictures], gap="medium"), pictures, strict=True):
        with place:
            chart(picture.draw(dark=is_dark()), picture.name, picture.alt)
            st.caption(picture.caption)
    for table in ladder_tables(found, name="own_scores"):
        show_frame(table.shown, alt=table.heading)
        st.caption(table.caption)
        take_along(table)
    save("All on one page", "survives.html", partial(ladders_page, [ladder], None))
