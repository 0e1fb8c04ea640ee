"""The simulated users of `benchmarks load` detect faults."""

import numpy as np
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.robustness.client import Client
from tests.robustness.load import User, words


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
