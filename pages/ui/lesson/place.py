"""Where the reader of the lesson is: the step lives in the URL, and the guesses of the game in the session."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

import streamlit as st

from analysis.lesson import Puzzle

STEP = "step"
GUESSES, TURN = "_guesses", "_turn"


def step(*, last: int) -> int:
    """The step of the URL, counted from 1; what is no step is corrected there."""
    asked = st.query_params.get(STEP)
    if asked is None:
        return 1
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 1
    found = min(max(number, 1), last)
    if asked != str(found):
        st.query_params[STEP] = str(found)
    return found


def guesses(puzzles: Sequence[Puzzle]) -> list[int]:
    """The tokens that the reader has named so far, one for each puzzle, up to the first that its answer lacks."""
    made = zip(st.session_state.get(GUESSES, []), puzzles, strict=False)
    return [guess for guess, _ in takewhile(lambda pair: 0 <= pair[0] < len(pair[1].tokens), made)]


def turn() -> int:
    """How many moves of the reader Python has heard of: the browser takes a step from here only if it is up to date."""
    return int(st.session_state.get(TURN, 0))


def move(to: Mapping[str, object]) -> None:
    """Remember what the browser tells: the step, the guesses, and the number of this move."""
    st.query_params[STEP] = str(to["step"])
    st.session_state[GUESSES] = to["guesses"]
    st.session_state[TURN] = to["turn"]
