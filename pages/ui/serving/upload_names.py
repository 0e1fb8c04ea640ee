"""Names of uploaded files: Streamlit ends a page with an error where one has a NUL, so that becomes an underscore."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_UPLOADS = "/_stcore/upload_file/"
_END = b"\r\n\r\n"  # of the headers of a file, one of which has its name


def with_usable_names(app: "ASGIApp") -> "ASGIApp":
    """Return the server with NULs replaced in the names of the files that it is sent."""

    async def serve(scope: "Scope", receive: "Receive", send: "Send") -> None:
        is_upload = scope["type"] == "http" and scope["method"] == "PUT" and _UPLOADS in scope["path"]
        await app(scope, _renamed(receive) if is_upload else receive, send)

    return serve


def _renamed(receive: "Receive") -> "Receive":
    """Return a `receive` without NULs in the headers of the file; its content and its length stay as they are."""
    last: bytes | None = b""  # of the headers so far, where their end may have begun; None after the end

    async def received() -> "Message":
        nonlocal last
        message = await receive()
        if last is None:
            return message
        body = message.get("body", b"")
        read = last + body
        end = read.find(_END)
        length = len(body) if end < 0 else max(0, end - len(last))  # of what belongs to the headers
        last = read[1 - len(_END) :] if end < 0 else None
        return {**message, "body": body[:length].replace(b"\0", b"_") + body[length:]}

    return received
