"""The guard of a hosted app, in front of its real server: raw clients ask for what it refuses; and its parts.

The parts: what a session may send, how much it counts, whose a request is, and what one session and one visitor may
take at a time, by the clock of the test.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest
from starlette.datastructures import Headers
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.support.server import PATIENCE, hosting
from pages.ui.host import hosting as rules
from pages.ui.host.guarding.guard import (
    LARGEST_MESSAGE,
    Rules,
    cost,
    visitor_of,
)
from tests.robustness.client import connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor
from tests.robustness.hosted.owner import owners

ROUTES = ("/", "/inspect", "/_stcore/host-config", "/media/x", "/_stcore/upload_file/a/b", "/static/x", "/component/x")
EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def server():
    with hosting(*BY_PROXY) as server:
        yield server


@pytest.fixture
def browser(server, request):
    return Browser(server.address, request.node.name[-40:])  # no longer than a name that the guard tells apart


def drawn(client):
    client.open("learn")
    return client


@pytest.mark.parametrize("path", ROUTES)
def test_other_names_of_the_host_are_refused_on_every_route(browser, path):
    assert browser.ask(path, headers={"Host": "evil.example"}).status == 400
    assert browser.ask(path, headers={"Host": "127.0.0.1.evil.example:80"}).status == 400
    assert browser.ask(path).status != 400


def test_health_is_told_under_any_name(browser):
    assert browser.ask("/_stcore/health", headers={"Host": "evil.example"}).status == 200


def test_metrics_are_told_to_nobody(browser):
    assert browser.ask("/_stcore/metrics").status == 404
    assert browser.ask("/_stcore/metrics", headers={"Host": "evil.example"}).status == 400


def test_no_site_may_frame_the_app_and_no_address_is_told_to_others(browser):
    for path in ("/", "/_stcore/health", "/media/x"):
        headers = browser.ask(path).headers
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "origin", [EVIL, "http://localhost:1", "http://127.0.0.1:1", "null", "file://", "http://[", "x"]
)
def test_requests_and_sessions_of_other_sites_are_refused(server, browser, origin):
    put = browser.ask("/_stcore/upload_file/a/b", method="PUT", headers={"Origin": origin}, body=b"x")
    assert (put.status, put.body) == (400, b"Requests of other sites are refused")
    with pytest.raises(InvalidStatus), connected(server.address, headers=as_visitor(origin) | {"Origin": origin}):
        pass


def test_the_own_site_and_a_client_without_an_origin_have_sessions(server):
    for headers in ({}, {"Origin": server.address}):
        with connected(server.address, headers=as_visitor("own") | headers) as client:
            assert drawn(client).widgets


def test_a_visitor_has_a_bounded_number_of_sessions_and_others_have_theirs(server):
    with ExitStack() as stack:
        for _ in range(rules.HOST.sessions_each):
            stack.enter_context(connected(server.address, headers=as_visitor("many")))
        with pytest.raises(InvalidStatus), connected(server.address, headers=as_visitor("many")):
            pass
        refused = Browser(server.address, "many").ask("/inspect", headers={"Accept": "text/html"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        assert b"All places are taken" in refused.body
        assert Browser(server.address, "many").ask("/_stcore/health").status == 200
        assert Browser(server.address, "another").ask("/inspect", headers={"Accept": "text/html"}).status == 200
        with connected(server.address, headers=as_visitor("another")) as client:
            assert drawn(client).widgets
    with connected(server.address, headers=as_visitor("many")) as client:
        assert drawn(client).widgets


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_uploads_beyond_the_quota_of_a_visitor_are_refused_until_others_are_removed(server, browser, chunked):
    part = bytes(rules.HOST.uploads_each // 4 - 2**20)
    with connected(server.address, headers=as_visitor(browser.visitor)) as client:
        session = drawn(client).session
        assert [browser.upload(session, file, part, chunked=chunked).status for file in "abcd"] == [204] * 4
        assert status_of_too_much(browser, session, part, chunked=chunked) == 413
        assert browser.remove(session, "a").status == 204
        assert browser.upload(session, "e", b"x", chunked=chunked).status == 204


def status_of_too_much(browser, session, part, *, chunked):
    try:
        return browser.upload(session, "e", part, chunked=chunked).status
    except (BrokenPipeError, ConnectionResetError):
        return 413  # the server hung up before everything was sent


def test_a_file_may_not_be_sent_twice_at_once_since_it_would_be_counted_once(server, browser):
    tried = Event()

    def slowly():
        yield b"-"
        tried.wait(PATIENCE)
        yield b"no form"

    with connected(server.address, headers=as_visitor(browser.visitor)) as client, ThreadPoolExecutor(1) as pool:
        session = drawn(client).session
        first = pool.submit(browser.put, session, "a", slowly())
        statuses = {browser.upload(session, "a", b"x").status for _ in range(30)}  # the first may not be there yet
        tried.set()
        assert first.result().status in {400, 409}
        assert 409 in {*statuses, first.result().status}
        assert browser.upload(session, "a", b"x").status == 204


def test_caches_cleared_by_a_stranger_are_not_what_others_own(server):
    with owners(server, ["Zqcache"]) as (owner,), connected(server.address, headers=as_visitor("stranger")) as stranger:
        drawn(stranger)
        for kind in ("clear_cache", "debug_shutdown_runtime", "debug_disconnect_websocket", "set_run_on_save"):
            stranger.connection.send(BackMsg(**{kind: True}).SerializeToString())
        assert drawn(stranger).widgets
        assert owner.losses() == ()


def test_messages_that_are_none_are_ignored(server):
    with connected(server.address, headers=as_visitor("garbage")) as client:
        for garbage in ("a text", b"\xff" * 100, bytes(2**20), b""):
            client.connection.send(garbage)
        assert drawn(client).widgets


def test_a_message_that_is_too_long_ends_the_session_before_it_is_kept(server):
    head = b"\x82\xff" + (2 * 2**20).to_bytes(8, "big") + bytes(4)  # of a binary frame, whose content is never sent
    with connected(server.address, headers=as_visitor("long")) as client:
        client.connection.socket.sendall(head)
        with pytest.raises(ConnectionClosed, match="1009"):
            list(client.connection)


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
