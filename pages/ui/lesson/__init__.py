"""The lesson and its game, drawn by one component that gets its data once: all interaction stays in the browser."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui.lesson import place
from pages.ui.lesson.content import Content
from pages.ui.shared import words
from pages.ui.shared.assets import joined
from pages.ui.shared.components import component
from pages.ui.shared.sent import events

KEY = "lesson"
_HTML = """
<article class="lesson">
  <h1 class="title" tabindex="-1"></h1>
  <p class="text"></p>
  <section class="stage"></section>
  <nav class="bar" aria-label="Steps"></nav>
  <p class="spoken" role="status"></p>
</article>
"""
_FOLDER = Path(__file__).parent
_mount = component(
    "lesson",
    _FOLDER / "js/lesson.js",
    html=_HTML,
    css=f"{joined(_FOLDER, 'lesson.css', 'pictures.css', 'game.css')}\n{words.STYLE}",
)


def show_lesson(content: Content) -> None:
    """Draw the lesson at the step of the URL; the browser reports each step and each guess."""
    data: dict[str, Any] = {
        "steps": [asdict(step) for step in content.steps],
        "words": words.word_list(),
        "lesson": asdict(content.lesson),
        "puzzles": [asdict(puzzle) for puzzle in content.puzzles],
        "step": place.step(last=len(content.steps)),
        "guesses": place.guesses(content.puzzles),
        "turn": place.turn(),
    }
    _mount(key=KEY, data=data, on_place_change=_move)


def _move() -> None:
    if (to := events.event(KEY, "place", place.Move)) is not None:
        place.move(to)


def no_recordings() -> None:
    """Show what the page needs."""
    st.header("Learn needs recorded answers", anchor=False)
    st.write("There are no recorded answers. Run `python -m training record` to make them.")
