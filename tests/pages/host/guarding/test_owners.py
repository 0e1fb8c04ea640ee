"""A session is opened again, and its files are sent, by the browser that began it alone."""

import re

import pytest
from starlette.datastructures import Headers

from benchmarks.support.server import hosting
from pages.ui.host.guarding import owners
from pages.ui.host.store import Session, store
from tests.robustness.client import connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor

VALUE, OTHER = "a" * 22, "b" * 22


def cookies(value):
    return {"Cookie": f"x=1; {owners.COOKIE}={value}"}


def test_an_owner_is_a_cookie_or_without_one_an_address():
    assert owners.owner_of(Headers(cookies(VALUE)), "203.0.113.5") == VALUE
    for headers in ({}, cookies("short"), cookies(VALUE + "!"), cookies("ä" * 22)):
        assert owners.owner_of(Headers(headers), "203.0.113.5") == "address 203.0.113.5"


def test_a_new_cookie_is_one_and_no_script_reads_it():
    made = {owners.cookie_for(Headers({}), in_frames=in_frames) for in_frames in (False, True) for _ in range(5)}
    assert len(made) == 10
    shape = re.compile(rf"{owners.COOKIE}=[\w-]{{22}}; Path=/; Max-Age=\d+; HttpOnly; SameSite=\w+(; \w+)*")
    assert all(map(shape.fullmatch, made))
    value = next(iter(made)).partition("=")[2].partition(";")[0]
    assert owners.cookie_for(Headers(cookies(value)), in_frames=False).startswith(f"{owners.COOKIE}={value}; ")


@pytest.mark.parametrize(
    ("protocols", "kept"),
    [
        (b"streamlit, token, mine", b"streamlit, token, mine"),
        (b"streamlit, token, theirs", b"streamlit, token"),
        (b"streamlit, token, unknown, x", b"streamlit, token"),
        (b"streamlit, token", b"streamlit, token"),
        (b"\xff, \xfe, \xfd", b"\xff, \xfe"),
        (b"", b""),
    ],
)
def test_the_name_of_another_ones_session_is_left_out(monkeypatch, protocols, kept):
    monkeypatch.setattr(store(), "sessions", {"mine": Session(owner=VALUE), "theirs": Session(owner=OTHER)})
    headers = [(b"host", b"x"), (b"sec-websocket-protocol", protocols)]
    assert owners.without_others(headers, VALUE) == [headers[0], (headers[1][0], kept)]


@pytest.fixture(scope="module")
def server():
    with hosting(*BY_PROXY) as server:
        yield server


def test_a_page_gives_a_browser_its_cookie_and_lets_it_keep_it_for_another_year(server):
    browser = Browser(server.address, "cookies")
    page = {"Accept": "text/html,*/*"}
    loaded = browser.ask("/", headers=page)
    given = loaded.headers["set-cookie"]
    assert given.startswith(owners.COOKIE)
    known = browser.ask("/", headers=page | {"If-None-Match": loaded.headers.get("etag", "")})
    assert owners.COOKIE in known.headers["set-cookie"]
    again = browser.ask("/", headers=page | {"Cookie": given.partition(";")[0]})
    assert again.headers["set-cookie"] == given


def session_of(server, visitor, cookie, again=""):
    protocols = ["streamlit", "token", again] if again else ["streamlit"]
    with connected(server.address, headers=as_visitor(visitor) | cookie, protocols=protocols) as client:
        client.open("learn")
        return client.session


def test_a_known_name_of_a_session_alone_opens_nothing(server):
    mine, theirs = cookies(VALUE), cookies(OTHER)
    with connected(server.address, headers=as_visitor("one") | mine) as client:
        client.open("learn")
        session = client.session
        thief = Browser(server.address, "one")
        for headers in ({}, theirs):
            asked = thief.ask(f"/_stcore/upload_file/{session}/a", method="DELETE", headers=headers)
            assert (asked.status, asked.body) == (404, b"This session is not yours. Load the page again.")
    assert session_of(server, "one", theirs, session) != session
    assert session_of(server, "two", {}, session) != session
    assert session_of(server, "two", mine, session) == session  # the address of a telephone changes
