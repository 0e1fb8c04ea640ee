"""The key of a tab's job, which the browser keeps for this tab alone until the tab is closed; no URL and no log has it.

A tab that is loaded again has a new session, which knows nothing of the one before, and is asked for the key.
"""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages.ui.host import hosting
from pages.ui.host.store import session_name, store
from pages.ui.shared import state
from pages.ui.shared.components import component
from pages.ui.shared.sent import events

KEY = "own_job"
_ELSEWHERE, _STAYED = "own_job_elsewhere", "_own_job_stayed"
_mount = component("own_job", Path(__file__).with_suffix(".js"))


def keep_or_ask(key: str, *, asked: bool, others: bool, on_key: Callable[[], None]) -> None:
    """Let the browser keep a key, or, without one, tell the one that it has; once `asked`, it forgets that.

    `others`: whether it is to answer although it has none.
    """
    _mount(key=KEY, data={"key": key, "asked": asked, "others": others}, on_key_change=on_key)


def kept() -> str | None:
    """Return the key that the browser has told, "" if it has none."""
    return events.event(KEY, "key", str)


def stay() -> None:
    """On a page that does not show the job of this tab, let a host know that the tab is still there."""
    if hosting.is_hosted() and state.JOB not in st.session_state and _STAYED not in st.session_state:
        data = {"key": "", "asked": False, "others": False}
        _mount(key=_ELSEWHERE, data=data, on_key_change=_stay)


def _stay() -> None:
    st.session_state[_STAYED] = True
    if (job := store().keyed.find(events.event(_ELSEWHERE, "key", str) or "")) is not None:
        job.sessions.add(session_name())
