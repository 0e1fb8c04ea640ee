"""The linked views of one answer, drawn in the browser: token strip, attention maps, confidence, selected heads.

One component gets typed arrays once for each score. A click or a key changes the picture at once in the browser;
Python is notified afterwards, writes the selection to the URL, and redraws nothing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui.inspect.linked_views.payload import live_payload, payload
from rauq.scoring.report import Words

__all__ = ["KEY", "live_views", "payload", "show_views"]

KEY = "views"
_FOLDER = Path(__file__).parent


def _source(*names: str) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


_component = st.components.v2.component(
    "linked_views",
    html=_source("linked_views.html"),
    css=_source("linked_views.css"),
    js=_source(*(f"js/{path.name}" for path in sorted((_FOLDER / "js").glob("*.js")))),
)


def show_views(
    data: dict[str, Any],
    *,
    on_view: Callable[[dict[str, Any]], None],
    on_branch: Callable[[int], None],
) -> None:
    """Draw a scored answer; before the next script run the callbacks get what was selected, marked or branched."""

    def callback(act: Callable[[Any], None], name: str) -> Callable[[], None]:
        return lambda: act(st.session_state[KEY][name])

    _component(
        key=KEY,
        data=data,
        on_view_change=callback(on_view, "view"),
        on_branch_change=callback(on_branch, "branch"),
    )


def live_views(pieces: Sequence[str], words: Words) -> None:
    """Draw the tokens of an answer that is still being generated."""
    _component(key=KEY, data=live_payload(pieces, words))
