"""What a component of a page reports, as a frozen dataclass; anything else is ignored, with one line in the log."""

import json
import logging
from typing import Any, TypeVar

import streamlit as st

Event = TypeVar("Event")

_log = logging.getLogger(__name__)
_MOST_DIGITS = 9  # of a layer, a head, a token, a step


def event(component: str, name: str, kind: type[Event]) -> Event | None:
    """Return what a component has reported last under a name; None if that is nothing of this kind.

    Numbers have at most nine digits; whether an answer has such a token is for its user to know.
    """
    state: Any = st.session_state.get(component)
    reported = state.get(name) if isinstance(state, dict) else None
    from analysis.typed_json import parsed  # pydantic: not before something is reported

    try:
        text = json.dumps(reported)
        json.loads(text, parse_int=_number)
        return parsed(kind, text)
    except (ValueError, TypeError, RecursionError):
        _log.warning("Ignored what a browser reported as %s of %s: it is of another kind.", name, component)
        return None


def _number(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:
        message = f"Got a number of {len(digits)} digits."
        raise ValueError(message)
    return int(digits)
