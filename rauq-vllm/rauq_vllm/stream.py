"""The rows of a streamed answer: `--middleware rauq_vllm.stream.StreamedRows`.

vLLM has a place for them in whole responses only. The middleware gives a streaming request that asks for rows the name
of a file, the connector writes them there before the last chunk leaves, and the middleware adds them to it as
`delta.rauq`.
"""

import json
import os
import re
import secrets
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

FOLDER = "RAUQ_VLLM_STREAMS"
"""The variable that names the folder of these files, in all processes of a server."""

_NAME = re.compile(r"[0-9a-f]{32}")
_EVENT, _DATA = b"\n\n", b"data: "

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def agree_on_folder() -> None:
    """Name the folder for this process and those that it starts."""
    os.environ.setdefault(FOLDER, str(Path(tempfile.gettempdir(), f"rauq-vllm-streams-{secrets.token_hex(8)}")))


def file_of(asked: object) -> Path | None:
    """The file that a request names, as the middleware wrote it; None for any other value of `rauq`."""
    name = asked.get("stream") if isinstance(asked, dict) else None
    if FOLDER in os.environ and isinstance(name, str) and _NAME.fullmatch(name):
        return Path(os.environ[FOLDER], name)
    return None


def write(file: Path, found: dict[str, Any]) -> None:
    """Keep what the last chunk of a stream gets."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(json.dumps(found), encoding="utf-8")


class StreamedRows:
    """ASGI middleware for chat completions."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request; what is no streamed chat completion with rows passes as it is."""
        if scope["type"] != "http" or not scope["path"].endswith("/chat/completions"):
            await self.app(scope, receive, send)
            return
        content, name = _named(await _body(receive))
        headers = [(key, value) for key, value in scope["headers"] if key != b"content-length"]
        scope = {**scope, "headers": [*headers, (b"content-length", str(len(content)).encode())]}
        file = file_of({"stream": name})
        try:
            await self.app(scope, _again(content, receive), send if file is None else _Adding(send, file))
        finally:
            if file is not None:
                file.unlink(missing_ok=True)


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def _named(body: bytes) -> tuple[bytes, str]:
    """The body with the name of a new file where it streams rows, and that name; a client cannot give one."""
    try:
        asked = json.loads(body)
        rows = asked["kv_transfer_params"]["rauq"]
    except (ValueError, KeyError, TypeError):
        return body, ""
    name = secrets.token_hex(16) if rows and asked.get("stream") else ""
    asked["kv_transfer_params"]["rauq"] = {"stream": name} if name else bool(rows)
    return json.dumps(asked).encode(), name


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives the body again, then what the server receives after it: that the client has disconnected."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return left.pop() if left else await receive()

    return next_message


class _Adding:
    """Sends the events of a stream on, one by one, and adds the rows to that of the last token."""

    def __init__(self, send: Send, file: Path) -> None:
        self.send, self.file, self.pending = send, file, b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            *events, self.pending = (self.pending + message.get("body", b"")).split(_EVENT)
            rest = b"" if message.get("more_body") else self.pending
            message = {**message, "body": b"".join(self._with_rows(event) + _EVENT for event in events) + rest}
        await self.send(message)

    def _with_rows(self, event: bytes) -> bytes:
        if not (self.file.exists() and event.startswith(_DATA + b"{")):
            return event
        chunk = json.loads(event.removeprefix(_DATA))
        if not (chunk.get("choices") and chunk["choices"][0].get("finish_reason")):
            return event
        chunk["choices"][0]["delta"]["rauq"] = json.loads(self.file.read_text(encoding="utf-8"))
        return _DATA + json.dumps(chunk).encode()
