"""Where the reader of the lesson is: the step lives in the URL, and the guesses of the game in the session."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import streamlit as st

from analysis.lesson import Puzzle
from pages.ui.shared.url_state import number, update_url

STEP = "step"
GUESSES, TURN = "_guesses", "_turn"


@dataclass(frozen=True, kw_only=True)
class Move:
    """What the browser reports: the step, the guesses, and the number of this move."""

    step: int
    guesses: tuple[int, ...]
    turn: int


def step(*, last: int) -> int:
    """The step of the URL; 0 comes before the first. What is no step is corrected there."""
    found = min(number(st.query_params.get(STEP, "")) or 0, last)
    if STEP in st.query_params:
        update_url({STEP: str(found)})
    return found


def guesses(puzzles: Sequence[Puzzle]) -> list[int]:
    """The tokens that the reader has named so far, one for each puzzle, up to the first that its answer lacks."""
    made = zip(st.session_state.get(GUESSES, []), puzzles, strict=False)
    return [guess for guess, _ in takewhile(lambda pair: 0 <= pair[0] < len(pair[1].tokens), made)]


def turn() -> int:
    """The number of moves that reached Python: the browser takes a step from Python only if it is up to date."""
    return int(st.session_state.get(TURN, 0))


def move(to: Move) -> None:
    """Remember where the reader is now."""
    update_url({STEP: str(to.step)})
    st.session_state[GUESSES] = list(to.guesses)
    st.session_state[TURN] = to.turn
