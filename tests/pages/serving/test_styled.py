"""The style of the pages is in the document that a browser loads, and nothing else is changed."""

import asyncio
from pathlib import Path

import pytest
import streamlit
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_handler

from pages.ui.serving.styled import style, styled
from tests.event_loops import run_apart

FOLDER = Path(streamlit.__file__).with_name("static")
STYLE = style()
FILES = GZipMiddleware(create_streamlit_static_handler(str(FOLDER), base_url=None), minimum_size=1)
BROWSER = {"accept": "text/html,*/*;q=0.8", "accept-encoding": "gzip"}


def asked(app, path, method="GET", **headers):
    """The status, headers and body of an answer."""
    messages = []

    async def receive():
        await asyncio.Event().wait()  # a browser that sends nothing more, and stays

    async def send(message):
        messages.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": raw}
    run_apart(app(scope, receive, send))
    start, *parts = messages
    return start["status"], Headers(raw=start["headers"]), b"".join(part.get("body", b"") for part in parts)


@pytest.mark.parametrize("path", ["/", "/inspect", "/index.html"])
def test_a_document_has_the_style_where_it_wins_over_streamlit_s(path):
    status, headers, body = asked(styled(FILES), path, **BROWSER)
    assert status == 200
    assert body.count(STYLE) == 1
    assert body.index(b"</head>") < body.index(STYLE) < body.index(b'<div id="root">')
    assert int(headers["content-length"]) == len(body)
    plain = asked(FILES, path, accept="text/html")[2]
    assert body.replace(b"<style>" + STYLE + b"</style>", b"") == plain


def test_a_browser_never_keeps_a_document_with_an_older_style():
    _, plain, _ = asked(FILES, "/", accept="text/html")
    known = {"if-none-match": plain["etag"], "if-modified-since": plain["last-modified"]}
    assert asked(FILES, "/", **BROWSER, **known)[0] == 304
    status, headers, body = asked(styled(FILES), "/", **BROWSER, **known)
    assert (status, STYLE in body) == (200, True)
    assert not {"etag", "last-modified"} & set(headers)


@pytest.mark.parametrize(
    ("path", "method", "accept"),
    [
        ("/favicon.png", "GET", "text/html"),
        ("/", "GET", "*/*"),
        ("/inspect/", "GET", "text/html"),
        ("/", "HEAD", "text/html"),
    ],
)
def test_what_is_no_document_for_a_browser_passes_unchanged(path, method, accept):
    (status, headers, body), expected = (asked(app, path, method, accept=accept) for app in (styled(FILES), FILES))
    assert (status, dict(headers), body) == (expected[0], dict(expected[1]), expected[2])


def test_a_style_cannot_end_its_element():
    assert b"</" not in STYLE
