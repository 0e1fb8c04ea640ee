"""The linked views of one answer, drawn in the browser: token strip, attention maps, confidence, picked heads.

One component, fed once for each score with typed arrays. A click or a key changes the picture there and then; Python
hears of it afterwards, to write it into the URL, and draws nothing again.
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
    """Draw a scored answer; the callbacks hear before the next run what was selected and marked, or branched."""

    def told(act: Callable[[Any], None], name: str) -> Callable[[], None]:
        return lambda: act(st.session_state[KEY][name])

    _component(
        key=KEY,
        data=data,
        on_view_change=told(on_view, "view"),
        on_branch_change=told(on_branch, "branch"),
    )


def live_views(pieces: Sequence[str], words: Words) -> None:
    """Draw the tokens of an answer that is still being written."""
    _component(key=KEY, data=live_payload(pieces, words))
