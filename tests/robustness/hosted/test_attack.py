"""A short attack on two pages of a hosted app; and tests that the attack detects faults."""

from random import Random

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.listed import PAGES
from tests.robustness.client import Client
from tests.robustness.hosted import attack as whole
from tests.robustness.hosted.attack import Attack, Found, _Broken, attack, logged
from tests.robustness.hosted.owner import Watch
from tests.robustness.hosted.states import hostile_frame, hostile_state

STATES = {"inspect": 5, "runs": 3}
ADDRESSES = {"inspect": 1, "runs": 1}


@pytest.fixture(scope="module")
def found():
    return attack(STATES, ADDRESSES)


def test_no_page_fails_and_no_session_sees_or_loses_what_another_owns(found):
    assert [fault for page in found.pages for fault in page.faults] == []
    assert found.faults == ()
    assert {page.page: page.states for page in found.pages} == STATES


def test_the_whole_attack_visits_every_page():
    assert set(whole.STATES) == set(whole.ADDRESSES) == set(PAGES)


def test_what_others_own_is_detected_in_any_message():
    watch = Watch((b"Zqabc", b"name"))
    watch(b"nothing")
    assert watch.seen == []
    watch(b"\0Zqabc\0")
    assert watch.seen == ["another session was shown Zqabc"]


def test_faults_in_the_log_are_detected_with_the_lines_after_them():
    assert list(logged(["fine", "Exception in ASGI application", "  File"])) == [
        "Exception in ASGI application\n  File"
    ]


def test_an_exception_on_a_page_is_a_fault_and_so_is_a_page_that_does_not_answer():
    client = Client(connection=None, address="", receive=lambda _raw: None)
    attacking = Attack(server=None, page="learn", seed=0, owner=None, watch=None, every=None)

    def fails(client, _rng):
        client._receive(ForwardMsg(delta={"new_element": {"exception": {"type": "KeyError"}}}).SerializeToString())

    def hangs(_client, _rng):
        message = "A page took more than 60 s"
        raise TimeoutError(message)

    attacking._do(fails, client, "values 1")
    for name in ("values 2", "address 3"):
        with pytest.raises(_Broken):
            attacking._do(hangs, client, name)
    assert attacking.faults == ["learn, values 1: KeyError: ", "learn, address 3: A page took more than 60 s"]


def test_growth_compares_the_last_quarter_with_the_one_before():
    assert Found(pages=(), faults=(), memory=(1, 1, 50, 50, 100, 100, 110, 110)).growth == pytest.approx(0.1)


def test_values_and_messages_are_of_every_type_and_the_same_for_a_seed():
    kinds = {"$$ID-1-a": "button", "$$ID-2-b": "slider"}
    states = [hostile_state(kinds, "file", Random(number)) for number in range(400)]
    assert states == [hostile_state(kinds, "file", Random(number)) for number in range(400)]
    assert {state.WhichOneof("value") for state in states} == {None, *_value_types()}
    assert all(len(state.SerializeToString()) < 2**19 for state in states)
    frames = [hostile_frame("session", Random(number)) for number in range(400)]
    assert {type(frame) for frame in frames} == {bytes, str}
    assert _kinds(frames) >= {field.name for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}


def _value_types():
    (state,) = [hostile_state({}, "", Random(0))]
    return {field.name for field in state.DESCRIPTOR.oneofs_by_name["value"].fields}


def _kinds(frames):
    found = set()
    for frame in frames:
        try:
            found.add(BackMsg.FromString(frame).WhichOneof("type"))
        except Exception:  # noqa: BLE001, S112 - garbage is one of the kinds
            continue
    return found
