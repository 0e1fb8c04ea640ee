"""Concurrent sessions, for seconds instead of minutes; and tests that simulated users detect faults."""

import numpy as np
import pytest
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.robustness.client import Client
from tests.robustness.load import User, load, words

SECONDS, SESSIONS = 3.0, 5  # of each of two rounds
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


def test_a_second_round_of_the_same_load_takes_no_more_memory(loaded):
    assert loaded.growth <= MOST_GROWTH


def test_stop_works_under_load(loaded):
    assert loaded.slowest_stop <= SLOWEST_STOP


def test_text_of_another_session_is_detected():
    mine, other = words(2, seed=0)
    random = np.random.default_rng(0)
    user = User(address="", word=mine, others=frozenset({other}), random=random, until=0.0, fewest=0)
    user._receive(f'"{mine}", "Zqzzzzzzzzzz"'.encode())
    assert (user.saw_own, user.faults) == (True, [])
    user._receive(f"to {other}!".encode())
    assert user.faults == [f"{mine} was shown {other}"]


def test_an_error_on_a_page_is_detected():
    client = Client(connection=None, address="", receive=lambda _raw: None)
    for kind, shown in (("exception", {"type": "KeyError"}), ("alert", {"body": "No model", "format": Alert.ERROR})):
        client._receive(ForwardMsg(delta={"new_element": {kind: shown}}).SerializeToString())
    client._receive(ForwardMsg(delta={"new_element": {"alert": {"body": "Known"}}}).SerializeToString())
    assert client.faults == ["KeyError: "]
    assert client.refusals == ["No model"]
