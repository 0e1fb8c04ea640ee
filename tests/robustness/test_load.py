"""Many sessions at once, for seconds instead of minutes; and what the guests look for, they find."""

import numpy as np
import pytest
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.robustness.guest import Guest, words
from tests.robustness.load import SESSIONS, load
from tests.robustness.visitor import Visitor

SECONDS = 10.0  # of each of two rounds
MOST_GROWTH = 0.08  # seconds do not fill every cache; after five minutes it may be 5 %
SLOWEST_STOP = 30.0  # on a machine that has other tests to run


@pytest.fixture(scope="module")
def loaded():
    return load(seconds=SECONDS, sessions=SESSIONS, seed=0)


def test_nothing_fails_and_no_session_sees_the_text_of_another(loaded):
    assert loaded.faults == ()
    first, second = loaded.rounds
    assert [done.action for done in first.done] == [done.action for done in second.done]
    assert {"follow a link", "generate", "stop"} <= {done.action for done in first.done}


def test_the_model_is_loaded_once(loaded):
    assert loaded.models == ("atlas",)


def test_the_same_load_once_more_takes_no_more_memory(loaded):
    assert loaded.growth <= MOST_GROWTH


def test_stop_works_under_load(loaded):
    assert loaded.slowest_stop <= SLOWEST_STOP


def test_the_word_of_another_is_noticed():
    mine, other = words(2, seed=0)
    guest = Guest("", mine, frozenset({other}), np.random.default_rng(0))
    guest._hear(f'"{mine}", "Zqzzzzzzzzzz"'.encode())
    assert (guest.told_own, guest.faults) == (True, [])
    guest._hear(f"to {other}!".encode())
    assert guest.faults == [f"{mine} was shown {other}"]


def test_an_error_on_a_page_is_noticed():
    visitor = Visitor(connection=None, address="", heard=lambda _raw: None)
    for kind, shown in (("exception", {"type": "KeyError"}), ("alert", {"body": "No model", "format": Alert.ERROR})):
        visitor._hear(ForwardMsg(delta={"new_element": {kind: shown}}).SerializeToString())
    visitor._hear(ForwardMsg(delta={"new_element": {"alert": {"body": "Known"}}}).SerializeToString())
    assert visitor.faults == ["KeyError: "]
    assert visitor.refusals == ["No model"]
