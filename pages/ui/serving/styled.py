"""The style of the pages, in the document that a browser loads first.

As an element of a page, Streamlit would load the style later than the text, which would then move.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STYLE = Path(__file__).with_name("page.css")
_ROW, _FRAME, _MOST_ROWS = 35, 3, 60  # pixels of a row of a table, as Streamlit draws it, and of its frame
_BODY = b"<body>"  # not in the head: what Streamlit adds there later would win over it
# Headers of a request for a compressed document, for a part of it, or for none where the browser has an older one.
_REMOVED = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}


def styled(app: "ASGIApp") -> "ASGIApp":
    """Return the server with the style in each document that it sends to a browser."""
    document_style = b"<body><style>" + style() + b"</style>"

    async def serve(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if not _may_be_a_document(scope):
            await app(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] not in _REMOVED]
        await app({**scope, "headers": headers}, receive, _with_style(document_style, send))

    return serve


def style() -> bytes:
    """Return the style of all pages; the placeholder of a table is as high as the rows that its key names."""
    room = "[class*='st-key-table_of_{rows}_'] [data-testid='stSkeleton'] {{ height: {height}px !important; }}\n"
    rules = (room.format(rows=rows, height=_ROW * (rows + 1) + _FRAME) for rows in range(1, _MOST_ROWS))
    return _STYLE.read_bytes() + "".join(rules).encode()


def _may_be_a_document(scope: "Scope") -> bool:
    is_get = scope["type"] == "http" and scope["method"] == "GET"
    return is_get and "text/html" in Headers(scope=scope).get("accept", "")


def _with_style(style: bytes, send: "Send") -> "Send":
    """Return a `send` that holds a document back until it is whole, and sends it with the style."""
    started: Message = {}
    body = bytearray()

    async def sent(message: "Message") -> None:
        if message["type"] == "http.response.start" and _is_document(message):
            started.update(message)
        elif not started:
            await send(message)
        else:
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_whole(started, bytes(body).replace(_BODY, style, 1), send)

    return sent


def _is_document(start: "Message") -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/html")


async def _send_whole(start: "Message", body: bytes, send: "Send") -> None:
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["content-length"] = str(len(body))
    del headers["etag"], headers["last-modified"]
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": body})
