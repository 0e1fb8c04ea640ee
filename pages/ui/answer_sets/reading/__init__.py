"""Unclear answers, read one after the other: a key or a button says whether each is correct, and the next comes up."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import streamlit as st

from analysis.runs import library
from analysis.runs.verdicts import why_fixed
from pages.ui.answer_sets.choices import Chosen
from pages.ui.shared.assets import joined
from pages.ui.shared.components import component
from pages.ui.shared.errors import printable
from pages.ui.shared.run_views.page import openable
from pages.ui.shared.run_views.verdicts import Mark, show_problem, try_to_mark
from pages.ui.shared.sent import events
from rauq.labels import lines, running, shortened

KEY = "reading"
_READ, _TURN = "_answers_read", "_answers_turn"
_MOST_UNDONE = 1_000  # verdicts of a session
MOST_LISTED = 1_000  # rows of a large run: a browser takes no million
_LONGEST, _LONGEST_QUESTION = 4_000, 80  # characters: of a text that is read, of one that is only named
_HEIGHT = 420  # pixels
_PREFIX = "unclear: "  # of a reason, which is known here
_SHOWN = ["number", "id", "group", "prompt", "references", "answer", "quality_reason"]
_FOLDER = Path(__file__).parent
_mount = component(
    "reading_list",
    _FOLDER / "reading.js",
    html=joined(_FOLDER, "reading.html"),
    css=joined(_FOLDER, "reading.css"),
)


@dataclass(frozen=True, kw_only=True)
class Card:
    """An answer to be read, the example `number`, as text; all is empty where none is left.

    `last` names the answer that was read before, with its verdict, and "" where none was. `turn` counts the verdicts,
    so that the browser is told of one that was not stored.
    """

    turn: int
    number: int = -1
    left: int = 0
    question: str = ""
    references: str = ""
    answer: str = ""
    reason: str = ""
    last: str = ""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the browser reports: the example that it shows, and the button that was pressed there."""

    number: int  # -1: none is left
    mark: Mark | Literal["undo"]


@dataclass(frozen=True)
class Read:
    """An answer that was read in this session: the run and the example, and what was said."""

    run: str
    number: int
    mark: Mark


def reading_list(chosen: Chosen, unclear: np.ndarray) -> None:
    """Draw the first unclear answer with its keys, and all of them in a table; `unclear` (n,) of those chosen."""
    rows = np.flatnonzero(unclear)
    if not why_fixed(chosen.run):  # else the table says why
        show_card(_card(chosen, rows), chosen.name)
    if len(rows):
        listed = rows[:MOST_LISTED]
        table = chosen.run.answers.iloc[chosen.rows[listed]].set_axis(listed)[_SHOWN]
        table["references"] = table["references"].map(" | ".join)
        table["quality_reason"] = table["quality_reason"].str.removeprefix(_PREFIX)
        table = table.rename(columns={"quality_reason": "why unclear"})
        first = f" The first {MOST_LISTED:,} are listed." if len(rows) > MOST_LISTED else ""
        note = f"In the order of the data set, whatever their score.{first}"
        openable(table, "unclear", chosen, note, height=_HEIGHT)
    if chosen.name == library.BUNDLED:
        st.page_link("pages/runs.py", label="Make a copy on the page Runs", icon=":material/arrow_forward:")


def show_card(card: Card, name: str) -> None:
    """Draw an answer of the run `name`; the browser reports the verdict."""
    _mount(key=KEY, data=asdict(card), on_said_change=lambda: _apply(name, events.event(KEY, "said", Said)))
    show_problem()


def _card(chosen: Chosen, rows: np.ndarray) -> Card:
    about: dict[str, Any] = {"turn": st.session_state.get(_TURN, 0), "left": len(rows), "last": _last(chosen)}
    if not len(rows):
        return Card(**about)
    row = chosen.run.answers.iloc[chosen.rows[rows[0]]]
    number = int(row["number"])
    return Card(
        **about,
        number=number,
        question=_text(chosen.run.examples[number].asked),
        references=_text(" | ".join(row["references"])),
        answer=_text(row["answer"]),
        reason=_text(row["quality_reason"].removeprefix(_PREFIX)),
    )


def _text(text: str) -> str:
    return printable(lines(shortened(text, longest=_LONGEST)))


def _read(name: str) -> tuple[Read, ...]:
    """Return the answers of a run that were read in this session, the latest last."""
    return tuple(one for one in st.session_state.get(_READ, ()) if one.run == name)


def _last(chosen: Chosen) -> str:
    """Name the answer that was read last, with its verdict; "" where none was."""
    if not (read := _read(chosen.name)):
        return ""
    asked = running(chosen.run.examples[read[-1].number].asked)
    return printable(f"{shortened(asked, longest=_LONGEST_QUESTION)} · {read[-1].mark}")


def _apply(name: str, said: Said | None) -> None:
    """Store the verdict of the browser."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    if said is None:
        return
    if said.mark != "undo":
        if said.number >= 0 and try_to_mark(name, said.number, said.mark):
            _keep((*st.session_state.get(_READ, ()), Read(name, said.number, said.mark)))
    elif (read := _read(name)) and try_to_mark(name, read[-1].number, None):
        _keep(tuple(one for one in st.session_state[_READ] if one is not read[-1]))


def _keep(read: tuple[Read, ...]) -> None:
    st.session_state[_READ] = read[-_MOST_UNDONE:]
