"""Uploads reach Streamlit with a name that it takes, and otherwise as they were sent."""

import pytest

from pages.ui.serving.upload_names import with_usable_names
from tests.event_loops import run_apart

PATH = "/base/_stcore/upload_file/session/file"
CONTENT = "a\0b\r\n\r\nc\0" * 3
SIZES = [1, 2, 3, 4, 5, 7, 64, 10_000]


def body_of(name):
    named = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
    return f"{named}{CONTENT}\r\n--x--\r\n".encode()


def received(body, size, path=PATH, method="PUT"):
    """What an application behind the middleware gets of a body that arrives in parts of this size."""
    parts = iter([body[place : place + size] for place in range(0, len(body), size)])
    found = []

    async def application(_scope, receive, _send):
        while (message := await receive())["type"] == "http.request":
            found.append(message["body"])

    async def receive():
        return next(({"type": "http.request", "body": part} for part in parts), {"type": "http.disconnect"})

    run_apart(with_usable_names(application)({"type": "http", "method": method, "path": path}, receive, None))
    return b"".join(found)


@pytest.mark.parametrize("size", SIZES)
def test_a_nul_in_a_name_becomes_an_underscore_however_the_file_arrives(size):
    assert received(body_of("\0a\0.csv"), size) == body_of("_a_.csv")
    assert received(body_of("plain.csv"), size) == body_of("plain.csv")
    assert received(b"a\0" * 99, size) == b"a_" * 99  # the headers do not end


@pytest.mark.parametrize(("path", "method"), [("/_stcore/health", "PUT"), (PATH, "POST")])
def test_no_other_request_is_changed(path, method):
    assert received(body_of("\0"), 64, path, method) == body_of("\0")
