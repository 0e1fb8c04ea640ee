"""Whose a session is: a cookie that each browser gets once; who only knows the name of a session opens nothing.

The cookie is random, and neither scripts nor the log have it. A browser without cookies is known by its address.
"""

import re
import secrets
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from pages.ui.host.store import store

COOKIE = "rauq_owner"
_SECONDS = 365 * 24 * 60 * 60
_VALUE = re.compile(r"[A-Za-z0-9_-]{22}")
_PROTOCOL = b"sec-websocket-protocol"

Header = tuple[bytes, bytes]


def owner_of(headers: Headers, visitor: str) -> str:
    """Return the owner of the sessions that this request may open."""
    return _cookie(headers) or f"address {visitor}"


def cookie_for(headers: Headers, *, in_frames: bool) -> str:
    """Return the header that gives a browser its cookie, or lets it keep the one that it has for another year."""
    return f"{COOKIE}={_cookie(headers) or secrets.token_urlsafe(16)}; {attributes(in_frames=in_frames)}"


def attributes(*, in_frames: bool) -> str:
    """Return how a browser keeps and sends a cookie of the host; in a frame of another site over TLS alone."""
    sent = "SameSite=None; Secure; Partitioned" if in_frames else "SameSite=Lax"
    return f"Path=/; Max-Age={_SECONDS}; HttpOnly; {sent}"


def owns(owner: str, session: str) -> bool:
    """Whether a session exists and is this owner's."""
    known = store().sessions.get(session)
    return known is not None and secrets.compare_digest(known.owner.encode(), owner.encode())


def without_others(headers: Sequence[Header], owner: str) -> list[Header]:
    """Return the headers of a request to connect without the name of a session of another owner.

    A browser that connects again names its session third among the protocols.
    """
    return [(name, _own(value, owner) if name == _PROTOCOL else value) for name, value in headers]


def _own(protocols: bytes, owner: str) -> bytes:
    entries = protocols.decode("latin-1").split(",")
    is_own = len(entries) < 3 or owns(owner, entries[2].strip())
    return protocols if is_own else ",".join(entries[:2]).encode("latin-1")


def _cookie(headers: Headers) -> str | None:
    value = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
    return value if _VALUE.fullmatch(value) else None
