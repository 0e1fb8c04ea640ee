"""The middleware adds the rows to the last chunk of a stream that asked for them, and leaves all else as it is."""

import json
from contextlib import suppress

import pytest
from rauq_vllm.stream import FOLDER, StreamedRows, agree_on_folder, file_of, write

from tests.event_loops import run_apart

ROWS = {"schema": 1, "heads": [3]}
ASKED = {"stream": True, "messages": [], "kv_transfer_params": {"rauq": True}}
CHUNKS = [
    {"choices": [{"index": 0, "delta": {"content": "Tok\n\nyo"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"total_tokens": 3}},
]
EVENTS = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in CHUNKS] + [b"data: [DONE]\n\n"]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, str(tmp_path / "streams"))
    return tmp_path / "streams"


def exchange(body, *, path="/v1/chat/completions", pieces=EVENTS, fails=False):
    """What a server behind the middleware got as its body, and what its client got."""
    got, sent = [], []

    async def server(scope, receive, send):
        message = await receive()
        got.append(message["body"])
        assert dict(scope["headers"])[b"content-length"] == str(len(message["body"])).encode()
        if fails:
            raise ConnectionError
        await send({"type": "http.response.start", "status": 200, "headers": []})
        name = None
        with suppress(ValueError, KeyError, TypeError):
            name = json.loads(message["body"])["kv_transfer_params"]["rauq"]
        for piece in pieces:
            if b'"stop"' in piece and file_of(name):
                write(file_of(name), ROWS)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent.append(message)

    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = [
        {"type": "http.request", "body": content[:9], "more_body": True},
        {"type": "http.request", "body": content[9:], "more_body": False},
    ]
    scope = {"type": "http", "path": path, "headers": [(b"content-length", str(len(content)).encode()), (b"a", b"b")]}
    run_apart(StreamedRows(server)(scope, receive, send))
    return got[0], b"".join(message.get("body", b"") for message in sent)


def test_the_last_chunk_gets_the_rows_and_their_file_goes(folder):
    got, sent = exchange(ASKED)
    named = json.loads(got)
    name = named["kv_transfer_params"].pop("rauq")
    assert named == {name: value for name, value in ASKED.items() if name != "kv_transfer_params"} | {
        "kv_transfer_params": {}
    }
    assert file_of(name).parent == folder
    events = [json.loads(event.removeprefix(b"data: ")) for event in sent.split(b"\n\n")[:3]]
    assert events[1]["choices"][0]["delta"].pop("rauq") == ROWS
    assert events == CHUNKS
    assert sent.endswith(EVENTS[-1])
    assert not any(folder.iterdir())


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_may_come_in_any_pieces(size):
    whole = b"".join(EVENTS)
    begin = whole.index(b'"stop"')  # the server writes the rows before it sends this
    after = begin + len(b'"stop"')
    rest = [whole[place : place + size] for place in range(after, len(whole), size)]
    sent = exchange(ASKED, pieces=[whole[:begin], whole[begin:after], *rest])[1]
    assert json.loads(sent.split(b"\n\n")[1].removeprefix(b"data: "))["choices"][0]["delta"]["rauq"] == ROWS


@pytest.mark.parametrize(
    "body",
    [
        ASKED | {"stream": False},
        ASKED | {"kv_transfer_params": {"rauq": False}},
        ASKED | {"kv_transfer_params": None},
        {"stream": True},
        [1],
        b"not JSON",
        b"",
    ],
)
def test_other_requests_pass(body, folder):
    got, sent = exchange(body, pieces=EVENTS[:1])
    assert sent == EVENTS[0]
    assert not folder.exists()
    if isinstance(body, bytes):
        assert got == body
    else:
        assert json.loads(got) == body


def test_other_addresses_pass_unread():
    sent = []

    async def server(_scope, _receive, send):
        await send({"type": "http.response.body", "body": b"metrics"})

    async def send(message):
        sent.append(message)

    run_apart(StreamedRows(server)({"type": "http", "path": "/metrics", "headers": []}, None, send))
    assert sent == [{"type": "http.response.body", "body": b"metrics"}]


@pytest.mark.parametrize("given", [{"stream": "../../etc/passwd"}, {"stream": "a" * 32}, {"stream": 5}, {}, "yes", [1]])
def test_a_client_names_no_file(given):
    for stream in (True, False):
        named = json.loads(exchange(ASKED | {"stream": stream, "kv_transfer_params": {"rauq": given}})[0])
        asked = named["kv_transfer_params"]["rauq"]
        assert asked == bool(given) if not (stream and given) else asked["stream"] != "a" * 32
    assert file_of({"stream": "../../etc/passwd"}) is None


def test_a_file_goes_with_a_request_that_fails(folder):
    with pytest.raises(ConnectionError):
        exchange(ASKED, fails=True)
    assert not folder.exists() or not any(folder.iterdir())


def test_processes_agree_on_one_folder(monkeypatch):
    monkeypatch.delenv(FOLDER)
    assert file_of({"stream": "a" * 32}) is None
    agree_on_folder()
    first = file_of({"stream": "a" * 32})
    agree_on_folder()
    assert file_of({"stream": "a" * 32}) == first
    monkeypatch.delenv(FOLDER)
