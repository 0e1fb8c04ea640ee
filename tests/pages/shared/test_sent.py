"""What a browser sent: nothing but a page's own types is taken, whatever a client that is no browser sends."""

import json
import logging
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.proto.Common_pb2 import DoubleArray, StringArray
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

import pages.ui
from pages.ui.answer_sets.reading import Said
from pages.ui.compare.strips import Selected as OfPair
from pages.ui.inspect.linked_views.reported import AtToken, Corrected, Judged, OtherAnswer, Replaced, Reported
from pages.ui.lesson.place import Move
from pages.ui.shared.selection import Selected
from pages.ui.shared.sent import events, fields

OF = {"answer": "kept:a"}
# Every event of every component: its kind, and what a browser reports.
EVENTS = {
    "view": (Selected, OF | {"layer": 3, "head": None, "token": 1, "colour": "entropy", "wrong": [0, 2]}),
    "branch": (AtToken, OF | {"token": 1}),
    "offer": (Reported, OF),
    "judge": (Judged | Corrected, OF | {"verdict": None}),
    "go_on": (Replaced, OF | {"token": 1, "choice": 2}),
    "other_answer": (OtherAnswer, OF | {"act": "stop"}),
    "select": (OfPair, {"token": None}),
    "branch of a pair": (tuple[int, int], [1, 2]),
    "said": (Said, {"number": 4, "mark": "undo"}),
    "place": (Move, {"step": 2, "guesses": [1, 0], "turn": 3}),
    "closed": (str, "export"),
    "key": (str, "abc"),
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
        others = [one for one in others if one != value and one != OF | {"answer": "\0"}]
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


def field_of(draw):
    """What Streamlit knows of a field that a script draws."""
    script = f"import streamlit as st\n{draw}"
    app = AppTest.from_string(script).run()
    (known,) = app.session_state._state._state._new_widget_state.widget_metadata.values()
    return known


ONE_OF = "key='a', required=True"
BOTH = {
    "st.number_input('A', 1, 9, key='a')": ({"double_value": 3}, {"double_value": 12}),
    "st.number_input('A', .1, .9, key='a')": ({"double_value": 0.5}, {"double_value": 1e308}),
    "st.slider('A', 0, 5, key='a')": (
        {"double_array_value": DoubleArray(data=[2])},
        {"double_array_value": DoubleArray(data=[1, 2])},
    ),
    "st.selectbox('A', [1, 2], key='a')": ({"string_value": "2"}, {"string_value": "foreign"}),
    f"st.segmented_control('A', ['x', 'y'], {ONE_OF})": (
        {"string_array_value": StringArray(data=["y"])},
        {"string_array_value": StringArray(data=[])},
    ),
    "st.select_slider('A', [.1, .2], key='a')": (
        {"string_array_value": StringArray(data=["0.2"])},
        {"string_array_value": StringArray(data=["0.7"])},
    ),
    "st.multiselect('A', ['x', 'y'], key='a')": (
        {"string_array_value": StringArray(data=[])},
        {"string_array_value": StringArray(data=["x", "foreign"])},
    ),
    "st.text_input('A', key='a')": ({"string_value": "any\0thing"}, {"double_value": 3}),
    "st.checkbox('A', key='a')": ({"bool_value": True}, {"string_value": "yes"}),
    "st.dataframe([{'x': 1}], on_select='rerun', key='a')": (
        {"string_value": '{"selection": {"rows": [0], "columns": [], "cells": []}}'},
        {"string_value": '{"selection": {"rows": ["0"], "columns": [], "cells": []}}'},
    ),
}
NO_NUMBERS = [{"double_value": float("nan")}, {"double_value": float("inf")}, {"int_value": 2**63 - 1}]
NO_NUMBERS += [{"double_array_value": DoubleArray(data=[one["double_value"]])} for one in NO_NUMBERS[:2]]
NO_TEXTS = [{"string_value": text} for text in ("[" * 50_000, '{"selection": []}', '{"selection": {"rows": 1}}')]


@pytest.mark.parametrize("draw", BOTH)
def test_a_field_takes_what_it_can_have_and_nothing_else(draw):
    field = field_of(draw)
    usual, foreign = BOTH[draw]
    assert fields.is_possible(field, WidgetState(id=field.id, **usual))
    texts = [] if "text_input" in draw else NO_TEXTS
    others = [foreign, *NO_NUMBERS, *texts, {"json_value": "{}"}, {"bytes_value": b"x"}]
    taken = [other for other in others if fields.is_possible(field, WidgetState(id=field.id, **other))]
    assert taken == []


def test_a_session_keeps_what_its_field_had_with_one_line_in_the_log(caplog):
    fields.check_all()
    app = AppTest.from_string("import streamlit as st\nst.write(st.number_input('A', 1, 9, key='a'))").run()
    app.number_input(key="a").set_value(4).run()
    caplog.set_level(logging.WARNING)
    app.number_input(key="a")._value = float("nan")
    app.run()
    assert not app.exception
    assert app.number_input(key="a").value == 4
    assert [line for line in caplog.messages if "cannot have that value" in line]
