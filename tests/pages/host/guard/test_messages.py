"""What a session may send, and how much it counts; and whose a request is."""

import pytest
from starlette.datastructures import Headers
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from pages.ui.host.guard.messages import LARGEST_MESSAGE, cost
from pages.ui.host.guard.middleware import Rules, visitor_of


def files(count):
    message = BackMsg()
    message.file_urls_request.file_names.extend([""] * count)
    return message


def operation(**payload):
    message = BackMsg()
    for name in payload:
        getattr(message.backend_operation_request, name).SetInParent()
    return message


@pytest.mark.parametrize(
    ("message", "counts_as"),
    [
        (BackMsg(rerun_script=ClientState()), 1),
        (BackMsg(stop_script=True), 1),
        (BackMsg(app_heartbeat=True), 1),
        (files(20), 1),
        (files(21), 0),
        (operation(dataframe_chunk=1), 1),
        (operation(deferred_file=1), 10),
        (operation(install_skills=1), 0),
        (BackMsg(clear_cache=True), 0),
        (BackMsg(set_run_on_save=True), 0),
        (BackMsg(load_git_info=True), 0),
        (BackMsg(debug_shutdown_runtime=True), 0),
        (BackMsg(), 0),
    ],
    ids=str,
)
def test_only_what_concerns_the_own_session_may_be_sent(message, counts_as):
    assert cost(message.SerializeToString()) == counts_as


def test_a_message_that_is_too_long_or_none_may_not_be_sent():
    usual = BackMsg(rerun_script=ClientState(query_string="x" * (LARGEST_MESSAGE - 100))).SerializeToString()
    assert cost(usual) == 1
    assert cost(usual + b" " * 100) == cost(b"\xff" * 100) == 0


PROXY = "X-Forwarded-For"


@pytest.mark.parametrize(
    ("address", "visitor"),
    [
        ("203.0.113.5", "203.0.113.5"),
        ("203.0.113.5:4711", "203.0.113.5"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("a name", "a name"),
    ],
)
def test_a_visitor_is_an_address_and_of_ipv6_the_network_of_a_customer(address, visitor):
    rules = Rules(names=("example.org",))
    assert visitor_of({"client": (address, 1)}, Headers(), rules) == visitor
    assert visitor_of({"client": ("10.0.0.1", 1)}, Headers({PROXY: address}), rules) == "10.0.0.1"
    behind = Rules(names=("example.org",), proxy_header=PROXY)
    assert visitor_of({"client": ("10.0.0.1", 1)}, Headers({PROXY: f"6.6.6.6, {address}"}), behind) == visitor


def test_what_a_visitor_writes_into_the_header_of_a_proxy_is_not_believed():
    lines = [(PROXY.lower().encode(), line) for line in (b"6.6.6.6", b"7.7.7.7, 203.0.113.5")]
    rules = Rules(names=("example.org",), proxy_header=PROXY)
    assert visitor_of({"client": ("10.0.0.1", 1)}, Headers(raw=lines), rules) == "203.0.113.5"
