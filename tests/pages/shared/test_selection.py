"""The selection in the URL, which the browser may change faster than its URL follows."""

from dataclasses import replace

import pytest
import streamlit as st

from pages.ui.shared.selection import Chosen, Selected, chosen, store_selection
from tests.traces import make_trace

EVENT = Selected(answer="kept:a", layer=3, head=1, token=1, passage=None, colour=None, wrong=())
NOTHING = replace(EVENT, layer=None, head=None, token=None)


class Address(dict):
    """The URL of a script run, and what was sent to the browser instead."""

    def __init__(self):
        super().__init__()
        self.sent = []

    def to_dict(self):
        return dict(self)

    def from_dict(self, values):
        self.clear()
        self.update(values)
        self.sent.append(dict(values))


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", Address())
    return st.query_params


def test_a_selection_that_is_taken_back_reaches_a_browser_whose_request_had_an_older_url(address):
    assert store_selection(EVENT, make_trace()) == Chosen()
    assert address.sent == [{"layer": "3", "head": "1", "token": "1"}]
    address.clear()  # the next request was sent before the browser had that
    assert store_selection(NOTHING, make_trace()) == Chosen(layer=3, head=1, token=1)
    assert address.sent[1:] == [{}]


def test_a_selection_that_the_browser_has_already_is_not_sent_again(address):
    store_selection(EVENT, make_trace())
    store_selection(EVENT, make_trace())
    assert len(address.sent) == 1


@pytest.mark.parametrize("asked", ["0", "7"])
def test_a_passage_of_an_answer_without_documents_is_not_selected(address, asked):
    address["passage"] = asked
    assert chosen(make_trace()) == Chosen()
    assert "passage" not in address
