"""Components of our own: of what they are sent, the browser shows the latest."""

import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import streamlit as st

from pages.ui.shared.assets import script

_SENT = "_sent_"  # begins the key of what a component was sent last


class Mount(Protocol):
    """Draws a component with these data; the callbacks are called when the browser reports something."""

    def __call__(self, *, key: str, data: dict[str, Any], **callbacks: Callable[[], object]) -> None:
        """Draw it."""


class _Sent(NamedTuple):
    digest: bytes  # of the data, which may be megabytes: a session keeps none of them
    at: float  # seconds


def component(name: str, entry: Path, *, html: str | None = None, css: str | None = None) -> Mount:
    """Declare a component; the default export of `entry`, which draws it, is a function that was given to `latest`."""
    return partial(_show, st.components.v2.component(name, html=html, css=css, js=script(entry)))


def _show(mount: Callable[..., Any], *, key: str, data: dict[str, Any], **callbacks: Callable[[], object]) -> None:
    mount(key=key, data=data | {"sent": _sent(key, data)}, **callbacks)


def _sent(key: str, data: dict[str, Any]) -> float:
    """When these data were sent first, in seconds: the same for the same data, so that nothing is drawn again."""
    last: _Sent | None = st.session_state.get(_SENT + key)
    digest = hashlib.blake2b(json.dumps(data).encode()).digest()
    if last is None or last.digest != digest:
        # By the clock: a browser whose server has started again keeps what is drawn.
        last = _Sent(digest, max(time.time(), last.at + 1e-3 if last else 0))
        st.session_state[_SENT + key] = last
    return last.at
