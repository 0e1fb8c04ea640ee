"""A host has room for as many connections as the machine has files, and hangs up on those that stay silent."""

import resource
import socket
import threading
import time
from contextlib import ExitStack

import pytest
import uvicorn

from pages.ui.host.guarding import connections


@pytest.mark.parametrize(
    ("hard", "files", "room"),
    [
        (1_280, 1_280, 512),
        (resource.RLIM_INFINITY, 16_640, 8_192),
        (2**20, 16_640, 8_192),
        (100, 100, 16),
    ],
)
def test_the_limit_of_files_is_raised_to_what_the_machine_allows(monkeypatch, hard, files, room):
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    assert connections.room_for_connections() == room
    assert limits == [(files, hard)]


MOST = 10


async def answer(scope, _receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(connections, "SILENT_SECONDS", 1.0)
    options = {"http": connections.Connection, "limit_concurrency": MOST, "lifespan": "off", "timeout_keep_alive": 60}
    server = uvicorn.Server(uvicorn.Config(answer, port=0, log_config=None, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def connect(port, sent=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(sent)
    return connection


def received(connection):
    """What the server sends until it hangs up, or has sent an answer."""
    found = b""
    try:
        while not found.endswith(b"ok") and (part := connection.recv(1_000)):
            found += part
    except ConnectionResetError:
        return b""
    return found


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"], ids=["silent", "half a request"])
def test_a_connection_without_a_request_is_closed(port, sent):
    with connect(port, sent) as silent:
        assert received(silent) == b""


def test_one_with_requests_stays_open_until_it_sends_half_of_one(port):
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    with connect(port, request) as asking:
        for _ in range(4):
            assert received(asking).startswith(b"HTTP/1.1 200")
            time.sleep(connections.SILENT_SECONDS / 2)
            asking.sendall(request)
        assert received(asking).startswith(b"HTTP/1.1 200")
        asking.sendall(request[:9])
        assert received(asking) == b""


def test_beyond_the_limit_new_connections_are_refused_and_later_there_is_room_again(port):
    with ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(connect(port))
        assert received(stack.enter_context(connect(port, b"GET / HTTP/1.1\r\n"))) == b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with connect(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as asking:
            if received(asking).startswith(b"HTTP/1.1 200"):
                return
    pytest.fail("There is no room.")
