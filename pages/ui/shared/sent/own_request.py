"""What the latest answers of a tab were asked for with, which the browser keeps for this tab alone until it is closed.

An address names an answer and not its prompt. Where the answer is no longer in memory, its tab still knows what to ask.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pages.ui.shared import url_state
from pages.ui.shared.components import component
from pages.ui.shared.sent import events
from pages.ui.shared.url_state import Asked

KEY = "own_request"
_mount = component("own_request", Path(__file__).with_suffix(".js"))


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a browser has kept: the parameters of a URL that asks for an answer."""

    asked: dict[str, str]


def keep(answer: str, asked: Asked) -> None:
    """Let the browser keep what leads to an answer of this name."""
    _mount(key=KEY, data={"answer": answer, "asked": url_state.written_asked(asked)})


def ask(answer: str, *, on_told: Callable[[], None]) -> None:
    """Let the browser tell what it has kept for an answer of this name; it says nothing if it has nothing."""
    _mount(key=KEY, data={"answer": answer, "asked": None}, on_told_change=on_told)


def told() -> Asked | None:
    """Return what the browser has told; None if that asks for nothing."""
    found = events.event(KEY, "told", Told)
    return url_state.read_asked(found.asked) if found else None
