"""A host of two workers: each has its share of the limits, and a browser stays at the one that its cookie names."""

import os
import signal
from collections import Counter
from dataclasses import asdict, fields

import pytest
from starlette.datastructures import Headers

from benchmarks.support.server import PATIENCE, hosting
from pages.ui.host import hosting as rules
from pages.ui.host.guarding import places
from pages.ui.serving import workers
from tests.robustness.client import connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor

PAGE = {"Accept": "text/html,*/*"}


@pytest.fixture
def as_worker(monkeypatch):
    return lambda number, of: monkeypatch.setenv(workers._VARIABLE, f"{number}/{of}")


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("count", [1, 2, 3, 8, 64])
def test_workers_share_what_is_for_all_and_each_has_room_for_a_visitor(as_worker, count):
    as_worker(1, count)
    most, own = asdict(rules.HOST), asdict(rules.limits())
    shared = {field.name for field in fields(rules.Limits) if f"{field.name}_each" in most}
    assert shared == {"jobs", "generations", "bytes", "sessions", "uploads"}
    for name in own:
        least = most[f"{name}_each"] if name in shared else most[name]
        assert own[name] == (max(least, most[name] // count) if name in shared else least)


def cookies(text):
    return Headers({"cookie": text})


def test_a_first_page_names_a_worker_by_chance_and_only_where_there_are_several(as_worker):
    as_worker(1, 1)
    assert places.first_cookie(cookies(""), in_frames=False) is places.own_cookie(cookies(""), in_frames=False) is None
    as_worker(2, 3)
    named = Counter(places.first_cookie(cookies("x=1"), in_frames=False).partition(";")[0] for _ in range(300))
    assert set(named) == {f"{places.COOKIE}={number}" for number in (1, 2, 3)}
    assert min(named.values()) > 50  # of 100: six standard deviations
    assert places.first_cookie(cookies(f"{places.COOKIE}=1"), in_frames=False) is None


def test_a_worker_that_takes_over_names_itself(as_worker):
    as_worker(2, 3)
    assert places.own_cookie(cookies(f"{places.COOKIE}=2"), in_frames=False) is None
    for sent in ("", f"{places.COOKIE}=1", f"{places.COOKIE}=x"):
        given = places.own_cookie(cookies(sent), in_frames=True)
        assert given.startswith(f"{places.COOKIE}=2; Path=/;")
        assert "HttpOnly; SameSite=None; Secure" in given


def test_two_workers_answer_on_their_ports_and_stop_together():
    with hosting(*BY_PROXY, workers=2) as server:
        port = int(server.address.rpartition(":")[2])
        addresses = [server.address, f"http://127.0.0.1:{port + 1}"]
        for number, address in enumerate(addresses, 1):
            given = Browser(address, "a").ask("/", headers=PAGE).headers["set-cookie"]
            assert places.COOKIE in given
            with connected(address, headers=as_visitor("a")) as client:
                accepted = client.connection.response.headers.get_all("set-cookie")
                assert any(cookie.startswith(f"{places.COOKIE}={number};") for cookie in accepted)
                client.open("learn")
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
        for address in addresses:
            with pytest.raises(ConnectionRefusedError):
                Browser(address, "a").ask("/")
