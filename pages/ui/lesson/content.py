"""Which recorded generations the lesson is drawn from."""

from typing import NamedTuple

from analysis.lesson import Lesson, Puzzle, lesson, puzzle
from pages.ui.lesson.steps import Step, steps
from rauq.atlas import recorded
from rauq.trace import Trace

WRONG, RIGHT, MYTH = "unknown-word", "known-words", "myth"


class Content(NamedTuple):
    """The numbers of the pictures, the words around them, and the answers of the game."""

    lesson: Lesson
    steps: tuple[Step, ...]
    puzzles: tuple[Puzzle, ...]


def content() -> Content | None:
    """Everything that the page shows; None where no recordings ship.

    Raises:
        RauqError: a recording is damaged, or one is missing.
    """
    if not (recorded.INDEX.exists() and recorded.GAME_INDEX.exists()):
        return None
    drawn = lesson(wrong=_trace(WRONG), right=_trace(RIGHT), myth=_trace(MYTH))
    return Content(drawn, steps(drawn), tuple(map(puzzle, recorded.load_game())))


def _trace(name: str) -> Trace:
    return recorded.find_recorded(name).trace()
