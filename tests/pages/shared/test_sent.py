"""What a browser sent: nothing but a page's own types is taken, whatever a client that is no browser sends."""

import json
import re
from pathlib import Path

import pytest
import streamlit as st

import pages.ui
from pages.ui.answer_sets.reading import Said
from pages.ui.compare.strips import Selected as OfPair
from pages.ui.inspect.linked_views.reported import AtToken, Corrected, Judged, OtherAnswer, Replaced, Reported
from pages.ui.lesson.place import Move
from pages.ui.shared.selection import Selected
from pages.ui.shared.sent import events
from pages.ui.shared.sent.own_request import Told

OF = {"answer": "kept:a"}
# Every event of every component: its kind, and what a browser reports.
EVENTS = {
    "view": (
        Selected,
        OF | {"layer": 3, "head": None, "token": 1, "passage": None, "colour": "entropy", "wrong": [0, 2]},
    ),
    "branch": (AtToken, OF | {"token": 1}),
    "offer": (Reported, OF),
    "reference": (Reported, OF),
    "judge": (Judged | Corrected, OF | {"verdict": None}),
    "go_on": (Replaced, OF | {"token": 1, "choice": 2}),
    "other_answer": (OtherAnswer, OF | {"act": "stop"}),
    "select": (OfPair, {"token": None}),
    "branch of a pair": (tuple[int, int], [1, 2]),
    "said": (Said, {"number": 4, "mark": "undo"}),
    "place": (Move, {"step": 2, "guesses": [1, 0], "turn": 3}),
    "closed": (str, "export"),
    "key": (str, "abc"),
    "told": (Told, {"asked": {"prompt": "Who?"}}),
}
HUGE, DEEP = 10**400, json.loads("[" * 900 + "]" * 900)
FOREIGN = [3.5, float("nan"), float("-inf"), HUGE, True, [], {}, [None], DEEP, {"answer": None}, "\0 foreign" * 99]
OF_TEXT = [None, 7, *FOREIGN[:-1]]


def reported(value, kind):
    st.session_state["component"] = {"event": value}
    return events.event("component", "event", kind)


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_a_browser_is_of_its_kind(name):
    kind, value = EVENTS[name]
    assert isinstance(reported(value, kind), tuple if name == "branch of a pair" else kind)


@pytest.mark.parametrize("name", EVENTS)
def test_any_other_value_is_ignored_with_one_line(name, caplog):
    kind, value = EVENTS[name]
    others = list(OF_TEXT if kind is str else [None, *FOREIGN])
    if isinstance(value, dict):
        others += [{key: one for key, one in value.items() if key != gone} for gone in value]
        others += [value | {key: bad} for key in value for bad in (3.5, float("nan"), HUGE, {}, [None], "\0")]
        others += [value | {"more": 1}]
        asks_nothing = {"asked": {}}
        others = [one for one in others if one not in (value, OF | {"answer": "\0"}, asks_nothing)]
    for other in others:
        caplog.clear()
        found = reported(other, kind)
        assert found is None or _is_text_of(found, other), other
        assert found is not None or len(caplog.messages) == 1
        assert "foreign" not in caplog.text


def _is_text_of(found, other):
    """A text may be any text."""
    return "\0" in (getattr(found, "answer", ""), getattr(found, "correct", "")) and "\0" in other.values()


def test_a_component_that_reported_nothing_is_ignored():
    for state in ({}, {"component": None}, {"component": []}, {"component": {"other": 1}}):
        st.session_state.clear()
        st.session_state.update(state)
        assert events.event("component", "event", str) is None


def test_no_page_takes_an_event_without_its_kind():
    source = "\n".join(path.read_text() for path in Path(pages.ui.__path__[0]).rglob("*.py"))
    declared = set(re.findall(r"on_(\w+)_change=", source)) | set(re.findall(r"(\w+)=(?:_for|Listener)\(", source))
    assert declared | {"branch of a pair"} == set(EVENTS)
