"""A host behind the real nginx, with the configuration that it prints: `make host-check`, which installs nginx.

Attacks that nginx stops before the host sees them, and what has to pass: pages, sessions, uploads.
"""

import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPSConnection
from itertools import chain, cycle, islice

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from benchmarks.support.server import HEALTH, hosting
from pages.ui.host import hosting as rules
from pages.ui.host.guarding import owners, places
from pages.ui.host.guarding.nginx import HEADER
from tests.robustness.hosted.proxy import NAME, PATIENCE, Way, ask, nginx, trusting
from tests.robustness.hosted.workers import worker_pids

LISTED = "details_mine"  # the key of what opens the run named mine in the list


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "host.log"


@pytest.fixture(scope="module")
def port(tmp_path_factory, log):
    folder = tmp_path_factory.mktemp("nginx")
    with (
        log.open("wb") as written,
        hosting("--proxy-header", HEADER, log=written) as server,
        nginx(folder, port=port_of(server)) as outer,
    ):
        yield outer


def port_of(server):
    return int(server.address.rpartition(":")[2])


def status(connection, port, path):
    connection.request("GET", f"/{path}", headers={"Host": f"{NAME}:{port}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def session(port, **headers):
    return connect(
        f"wss://{NAME}:{port}/_stcore/stream",
        sock=socket.create_connection(("127.0.0.1", port), timeout=PATIENCE),
        ssl=trusting(),
        subprotocols=["streamlit"],
        origin=f"https://{NAME}:{port}",
        additional_headers=headers,
        max_size=None,
    )


def test_pages_and_sessions_pass(port):
    assert ask(port)[0] == 200
    with session(port) as opened:
        assert opened.subprotocol == "streamlit"


def test_another_name_is_answered_by_nobody(port):
    with pytest.raises((ConnectionError, OSError)):
        ask(port, host="evil.example")


def test_the_visitor_is_whom_nginx_sees_and_not_what_he_says(port, log):
    with session(port, **{HEADER: "6.6.6.6", "X-Forwarded-For": "7.7.7.7"}):
        pass
    ask(port, "/_stcore/host-config", headers={HEADER: "6.6.6.6", "X-Rauq-Visitor": "6.6.6.6"})
    lines = [line for line in log.read_text().splitlines() if "visitor=" in line]
    assert lines
    assert not [line for line in lines if "6.6.6.6" in line or "7.7.7.7" in line]
    assert 'visitor="127.0.0.1"' in lines[-1]


def test_metrics_are_told_to_nobody(port):
    assert ask(port, "/metrics")[0] == ask(port, "/_stcore/metrics")[0] == 404


def test_an_upload_beyond_the_limit_is_refused_before_the_host_sees_it(port):
    length = {"Content-Length": str(rules.HOST.uploads_each + 2**20)}
    assert ask(port, "/_stcore/upload_file/a/b", method="PUT", headers=length)[0] == 413


def test_one_address_has_a_bounded_number_of_connections_and_the_rest_of_a_class_has_room(port):
    with ExitStack() as stack:
        for _ in range(rules.HOST.sessions_each):
            stack.enter_context(session(port))
        with pytest.raises(InvalidStatus):
            stack.enter_context(session(port))
        assert ask(port)[0] == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: "], ids=["silent", "half a request"])
def test_a_connection_without_a_request_is_closed(port, sent):
    begun = time.monotonic()
    with trusting().wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as silent:
        silent.sendall(sent)
        assert silent.recv(1_000)[:1] in {b"", b"H"}  # at most nginx's own 408
    assert time.monotonic() - begun < 30


def test_a_class_behind_one_address_loads_the_app_at_once(port):
    files = re.findall(r'"\./(static/[^"]+)"', ask(port)[1].decode())
    assert files

    def load(_):  # on one connection, as a browser does; the first load asks for a hundred files
        with closing(HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=trusting())) as connection:
            return {status(connection, port, path) for path in ["", *islice(cycle(files), 100)]}

    with ThreadPoolExecutor(30) as pupils:
        assert set(chain(*pupils.map(load, range(30)))) == {200}


def test_many_requests_of_one_address_are_refused_and_later_answered(port):
    statuses = [ask(port, "/_stcore/health")[0] for _ in range(20)]
    assert set(statuses) == {200}
    context, request = trusting(), f"GET /_stcore/health HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n".encode()
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as flood:
        found = b""
        for _ in range(1_500):
            flood.sendall(request)
            found += flood.recv(4_096)
            if b" 429 " in found:
                break
        assert b" 429 " in found
    deadline = time.monotonic() + PATIENCE
    while ask(port, "/_stcore/health")[0] != 200:
        assert time.monotonic() < deadline


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """A host of three workers, and the port of the nginx before it."""
    folder = tmp_path_factory.mktemp("several")
    with (
        hosting("--proxy-header", HEADER, workers=3) as server,
        nginx(folder, port=port_of(server), workers=3) as outer,
    ):
        yield server, outer


def at(number):
    return {"Cookie": f"{places.COOKIE}={number}"}


def place_of(opened, sent):
    """Which worker has taken a session: the one that it names, or the one that the browser had named."""
    given = opened.response.headers.get("Set-Cookie", f"{places.COOKIE}={sent};")
    return int(given.partition(";")[0].rpartition("=")[2])


def is_closed(opened):
    """Whether a session ends; what it sends before is read."""
    try:
        while True:
            opened.recv(PATIENCE)
    except ConnectionClosed:
        return True


def until_healthy(port):
    deadline = time.monotonic() + PATIENCE
    while True:
        with closing(socket.socket()) as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_class_is_spread_over_the_workers_and_each_pupil_stays(workers):
    _, port = workers
    given = [cookie for _ in range(30) for cookie in ask(port, headers={"Accept": "text/html"})[2]]
    named = {cookie.partition(";")[0] for cookie in given if cookie.startswith(places.COOKIE)}
    assert named == {f"{places.COOKIE}={number}" for number in (1, 2, 3)}
    assert all("; secure" in cookie.lower() for cookie in given)
    for number in (1, 2, 3):
        with session(port, **at(number)) as opened:
            assert place_of(opened, number) == number


def test_a_browser_without_cookies_stays_where_its_address_leads(workers):
    _, port = workers
    places_found = set()
    for _ in range(5):
        with session(port) as opened:
            places_found.add(place_of(opened, 0))
    assert len(places_found) == 1
    assert places_found <= {1, 2, 3}


def test_a_killed_worker_leaves_its_browsers_to_the_next_and_comes_back(workers):
    server, port = workers
    with session(port, **at(1)) as untouched, session(port, **at(2)) as opened:
        os.kill(worker_pids(server)[2], signal.SIGKILL)
        assert is_closed(opened)
        with session(port, **at(2)) as again:
            assert place_of(again, 2) == 3  # and its cookie says so from now on
        untouched.ping().wait(PATIENCE)
    until_healthy(port_of(server) + 1)
    with session(port, **at(2)) as back:
        assert place_of(back, 2) == 2
    assert ask(port, HEALTH)[0] == 200


def test_a_kept_run_is_found_at_the_next_worker_once_that_of_its_browser_was_killed(tmp_path):
    shared = tmp_path / "shared"
    keeping = ("--proxy-header", HEADER, "--keep-runs", f"file://{shared}")
    with hosting(*keeping, workers=2) as server, nginx(tmp_path, port=port_of(server), workers=2) as outer:
        way = Way(address=f"https://127.0.0.1:{outer}")
        mine, other = ({owners.COOKIE: letter * 22, places.COOKIE: "1"} for letter in "mo")
        with way.session("127.0.0.7", cookies=mine) as client:
            client.open("runs", "view=new")
            client.change(client.chosen("new_run_source", "Facts"))
            client.settle()
            client.click("start_run", client.typed("new_run_name", "mine"))
            client.wait_for_page()
            assert LISTED in client.widgets
            deadline = time.monotonic() + PATIENCE
            while not list(shared.rglob("manifest.json")):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            os.kill(worker_pids(server)[1], signal.SIGKILL)
        until_healthy(port_of(server))
        for cookies, is_listed in ((mine | {places.COOKIE: "2"}, True), (other, False)):
            with way.session("127.0.0.7", cookies=cookies) as client:
                client.visit("runs")
                client.wait_until(lambda: client.settled or LISTED in client.widgets)
                assert (LISTED in client.widgets) == is_listed
