"""The guard of the hosted mode: it checks every request before Streamlit receives it.

It checks the name of the host, the origin, and the sessions and uploads of each visitor. A session may send runs of
pages and what they need, and nothing that affects other sessions. What one session and one visitor may use at a time is
limited, so that the app stays fast for the others; the server's time is limited only while others use the app.
"""

import asyncio
import hmac
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.websockets import WebSocketDisconnected
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import get_instance

from pages.ui.host import hosting
from pages.ui.host.guarding import owners, places
from pages.ui.host.guarding.rates import Opening, RateLimit, RateLimits, ServerTime, SessionTime
from pages.ui.host.monitoring import metrics
from pages.ui.host.queueing.first_pages import PAGES_AT_ONCE
from pages.ui.host.store import OWNER_HEADER, VISITOR_HEADER, store
from rauq.errors import InvalidInput
from rauq.labels import size
from rauq.trace.file import LARGEST_UPLOAD

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FULL = Path(__file__).with_name("full.html").read_text(encoding="utf-8")
LARGEST_MESSAGE = 2**20  # bytes that a session may send at once
_MOST_FILES = 20  # names in one message, each of which is answered with addresses
_SENT = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
_EXPORT = 10  # messages that one export counts as, since all sessions share the threads that make it


def cost(content: bytes) -> int:
    """Return how many messages this one counts as; 0 if the session may not send it."""
    message = _read(content)
    match kind := message.WhichOneof("type"):
        case "file_urls_request":
            return int(len(message.file_urls_request.file_names) <= _MOST_FILES)
        case "backend_operation_request":
            payload = message.backend_operation_request.WhichOneof("payload")
            return _EXPORT if payload == "deferred_file" else int(payload == "dataframe_chunk")
        case _:
            return int(kind in _SENT)


def _read(content: bytes) -> BackMsg:
    """Return a message; an empty one if it is too large or malformed."""
    try:
        return BackMsg.FromString(content) if len(content) <= LARGEST_MESSAGE else BackMsg()
    except DecodeError:
        return BackMsg()


_RATE, _BURST = 20.0, 100.0  # messages a second, and at once
_UPLOAD_RATE = 4 * 2**20  # bytes of a visitor in a second, after those that it may have here at once
_LEAST_UPLOAD = 2**20  # bytes that an upload counts at least, even if it is refused
_SHORT = 2**15  # bytes of the longest message that tells of a script's begin or end
_WITH_PORT = re.compile(r"^(\d+\.\d+\.\d+\.\d+):\d+$")
_HEALTH, _METRICS = "/_stcore/health", "/_stcore/metrics"
OWN_METRICS = "/metrics"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")  # a proxy on this machine is no operator
_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")
_NO_NAMES = "/_stcore/upload_file"  # the name of a session is a secret
_LEAST_FILE = 2**20  # bytes that any file counts as, so that there are not too many of them
_RELOADS = 10  # times as many sessions as may be connected at once may come and go within some minutes


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the guard allows, besides the limits of the host.

    `names` are the names under which the host is reached, without a port. `proxy_header`, if any, is written by a
    trusted proxy: its last entry is the address of the visitor. `frames` are the sites that may show the app in a
    frame, as in the directive frame-ancestors. With `metrics_token`, the host's metrics are for those who send it;
    without, for requests of this machine.
    """

    names: tuple[str, ...]
    proxy_header: str = ""
    frames: str = "'none'"
    metrics_token: str = ""


@dataclass(eq=False)
class _Uploads:
    """The uploaded bytes that the server holds, by session and file, each with its visitor."""

    held: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    def reserve(self, file: tuple[str, str], visitor: str, num_bytes: int) -> None:
        """Count a file, or its size so far.

        Raises:
            InvalidInput: it is too much, for this visitor or for all.
        """
        most = hosting.limits()
        others = [(whose, size) for name, (whose, size) in self.held.items() if name != file]
        if sum(size for whose, size in others if whose == visitor) + num_bytes > most.uploads_each:
            message = f"Your uploads have more than {size(most.uploads_each)}, the limit of this host. Remove some."
            raise InvalidInput(message)
        if sum(size for _, size in others) + num_bytes > most.uploads:
            message = "This host holds as many uploads as it can. Try again in a few minutes."
            raise InvalidInput(message)
        self.held[file] = visitor, max(num_bytes, _LEAST_FILE)

    def forget_gone(self, being_sent: AbstractSet[tuple[str, str]]) -> None:
        """Forget the files that the server no longer holds, unless they are on their way to it."""
        manager = get_instance().uploaded_file_mgr
        for session, file in list(self.held):
            if (session, file) not in being_sent and not manager.get_files(session_id=session, file_ids=[file]):
                del self.held[session, file]


@dataclass(eq=False)
class _Connections:
    """The connected sessions of each visitor, and when others left lately."""

    now: Counter[str] = field(default_factory=Counter)
    left: list[tuple[float, str]] = field(default_factory=list)

    @contextmanager
    def one(self, visitor: str) -> Iterator[bool]:
        """Count a session while the body runs; yield whether there is room for it."""
        if not self.has_room(visitor):
            yield False
            return
        self.now[visitor] += 1
        try:
            yield True
        finally:
            self.now[visitor] -= 1
            self.now += Counter()  # forgets visitors without a session
            self.left.append((time.monotonic(), visitor))

    def has_room(self, visitor: str) -> bool:
        """Whether a visitor may have another session."""
        most, limit = hosting.limits(), time.monotonic() - hosting.LEFT_SECONDS
        self.left = [(when, whose) for when, whose in self.left if when > limit]
        lately = sum(whose == visitor for _, whose in self.left)
        room = self.now[visitor] < most.sessions_each and self.now.total() < most.sessions
        return room and self.now[visitor] + lately < _RELOADS * most.sessions_each


class Guard:
    """Middleware that lets through what the rules and the limits of the host allow."""

    def __init__(self, app: "ASGIApp", rules: Rules) -> None:
        self.app, self.rules = app, rules
        self._uploads, self._being_sent, self._connections = _Uploads(), set[tuple[str, str]](), _Connections()
        self._time, self._places = ServerTime(), asyncio.Semaphore(PAGES_AT_ONCE)
        self._upload_rates = RateLimits(rate=_UPLOAD_RATE, at_once=hosting.limits().uploads_each)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Check a request, or the connection of a session, and pass it on or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        visitor = visitor_of(scope, headers, self.rules)
        owner = owners.owner_of(headers, visitor)
        scope = {**scope, "headers": _with_names(scope, {VISITOR_HEADER: visitor, OWNER_HEADER: owner})}
        if scope["type"] == "websocket":
            scope["headers"] = owners.without_others(scope["headers"], owner)
            await self._session(scope, receive, send, visitor=visitor, refused=bool(self._refusal(scope, headers)))
        else:
            await self._request(scope, receive, _noted(scope, send, visitor), visitor=visitor)

    async def _request(self, scope: "Scope", receive: "Receive", send: "Send", *, visitor: str) -> None:
        headers = Headers(scope=scope)
        opens_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
        send = self._framed(send, self._cookies(headers) if opens_page else [])
        if own := self._own_answer(scope, headers):
            await own(scope, receive, send)
        elif opens_page and not self._connections.has_room(visitor):
            # Else the page would load, and wait for its session without a word.
            await HTMLResponse(_FULL, status_code=503, headers={"Retry-After": "10"})(scope, receive, send)
        elif (found := _UPLOAD.search(scope["path"])) and scope["method"] in {"PUT", "POST"}:
            await self._upload(scope, receive, send, visitor=visitor, file=found.groups())
        else:
            await self.app(scope, receive, send)

    def _own_answer(self, scope: "Scope", headers: Headers) -> PlainTextResponse | None:
        """What the guard answers itself: metrics, refusals, and that the host is stopping."""
        if scope["path"] == OWN_METRICS:
            return self._metrics(headers, scope)
        if reason := self._refusal(scope, headers):
            return PlainTextResponse(reason, status_code=400)
        if (upload := _UPLOAD.search(scope["path"])) and not owners.owns(headers.get(OWNER_HEADER, ""), upload[1]):
            return PlainTextResponse("This session is not yours. Load the page again.", status_code=404)
        if scope["path"].endswith(_METRICS):
            return PlainTextResponse("Not found", status_code=404)
        if scope["path"].endswith(_HEALTH) and store().jobs.stopping:
            return PlainTextResponse("stopping", status_code=503)
        return None

    def _metrics(self, headers: Headers, scope: "Scope") -> PlainTextResponse:
        if not is_operator(headers, scope, self.rules):
            return PlainTextResponse("Not found", status_code=404)
        return PlainTextResponse(metrics.prometheus(store().counts, self._state()), media_type=metrics.CONTENT_TYPE)

    def _state(self) -> metrics.Now:
        waiting = [job.waiting for job in list(store().jobs.jobs)]
        return metrics.Now(
            sessions=self._connections.now.total(),
            running=waiting.count(False),
            waiting=waiting.count(True),
            stopping=store().jobs.stopping,
        )

    def _refusal(self, scope: "Scope", headers: Headers) -> str:
        """Return why a request is refused, if it is: it names another host, or comes from another site."""
        host = headers.get("host", "")
        if _name(host) not in self.rules.names:
            return "" if scope["type"] == "http" and scope["path"].endswith(_HEALTH) else "Unknown host name"
        origin = headers.get("origin")
        reads = scope["type"] == "http" and scope["method"] in {"GET", "HEAD", "OPTIONS"}
        same = origin is None or origin.rpartition("://")[2] == host
        return "" if reads or same else "Requests of other sites are refused"

    async def _session(self, scope: "Scope", receive: "Receive", send: "Send", *, visitor: str, refused: bool) -> None:
        begun = time.monotonic()
        with self._connections.one(visitor) as room:
            if refused or not room:
                metrics.log("session", outcome="refused", visitor=visitor)
                await receive()  # the request to connect
                await send({"type": "websocket.close", "code": 1008 if refused else 1013})
                return
            opening = Opening(self._places, store().first_pages)
            place = places.own_cookie(Headers(scope=scope), in_frames=self._in_frames)
            channel = _Channel(receive, send, SessionTime(self._time, visitor), opening, place)
            try:
                with (
                    self._time.present(visitor),
                    suppress(WebSocketDisconnected),
                ):  # a browser that left while it was sent something
                    await self.app(scope, channel.next, channel.tell)
            finally:
                channel.time.end()
                channel.opening.end()
                metrics.log("session", outcome="ended", seconds=time.monotonic() - begun, visitor=visitor)

    async def _upload(
        self, scope: "Scope", receive: "Receive", send: "Send", *, visitor: str, file: tuple[str, ...]
    ) -> None:
        key, declared = (file[0], file[1]), Headers(scope=scope).get("content-length", "")
        await asyncio.sleep(self._upload_rates.of(visitor).wait(_LEAST_UPLOAD))
        if key in self._being_sent:  # it would be counted once
            await PlainTextResponse("This file is being sent already.", status_code=409)(scope, receive, send)
            return
        self._uploads.forget_gone(self._being_sent)
        self._being_sent.add(key)
        try:
            self._uploads.reserve(key, visitor, int(declared) if declared.isdecimal() else 0)
            await self.app(scope, self._counted(receive, key, visitor), send)
        except InvalidInput as error:
            await _read_to_the_end(receive)  # a browser would else not see the answer
            await PlainTextResponse(str(error), status_code=413, headers={"Connection": "close"})(scope, receive, send)
        finally:
            self._being_sent.remove(key)
            self._uploads.forget_gone(self._being_sent)

    def _counted(self, receive: "Receive", file: tuple[str, str], visitor: str) -> "Receive":
        received = 0

        async def counted() -> "Message":
            nonlocal received
            message = await receive()
            received += (num_bytes := len(message.get("body", b"")))
            self._uploads.reserve(file, visitor, max(received, self._uploads.held[file][1]))
            await asyncio.sleep(self._upload_rates.of(visitor).wait(num_bytes))
            return message

        return counted

    def _cookies(self, headers: Headers) -> list[str]:
        """Return the cookies that a browser gets with a page that it opens."""
        owner = owners.cookie_for(headers, in_frames=self._in_frames)
        return [cookie for cookie in (owner, places.first_cookie(headers, in_frames=self._in_frames)) if cookie]

    @property
    def _in_frames(self) -> bool:
        return self.rules.frames != "'none'"

    def _framed(self, send: "Send", cookies: Sequence[str]) -> "Send":
        async def framed(message: "Message") -> None:
            if message["type"] == "http.response.start":
                self._secure(message)
                for cookie in cookies:  # also with 304, which a browser gets that has the page already
                    MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        return framed

    def _secure(self, message: MutableMapping[str, Any]) -> None:
        """Say who may show the app in a frame, and that no other site gets its addresses, which name answers."""
        headers = MutableHeaders(scope=message)
        headers["Content-Security-Policy"] = f"frame-ancestors {self.rules.frames}"
        headers["Referrer-Policy"] = "no-referrer"
        headers["X-Content-Type-Options"] = "nosniff"


@dataclass(eq=False)
class _Channel:
    """The messages of one connection."""

    receive: "Receive"
    send: "Send"
    time: SessionTime
    opening: Opening
    place: str | None  # the cookie that the browser gets with the connection
    limit: RateLimit = field(default_factory=lambda: RateLimit(rate=_RATE, at_once=_BURST))

    async def next(self) -> "Message":
        """Return the next message that the session may send, when it may."""
        while True:
            message = await self.receive()
            if message["type"] != "websocket.receive":
                return message
            counts_as = cost(message.get("bytes") or b"")
            await asyncio.sleep(self.limit.wait(max(1, counts_as)))
            while seconds := self.time.wait():
                await asyncio.sleep(seconds)
            if counts_as:
                await self.opening.begin()
                return message

    async def tell(self, message: "Message") -> None:
        """Send a message to the browser."""
        if message["type"] == "websocket.send" and len(message["bytes"]) < _SHORT:
            self._listen(ForwardMsg.FromString(message["bytes"]))
        elif message["type"] == "websocket.accept" and self.place:
            message["headers"] = [*message.get("headers", ()), (b"set-cookie", self.place.encode())]
        await self.send(message)

    def _listen(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.time.begin()
        elif kind == "script_finished":
            self.time.end()
            self.opening.drawn()


def _noted(scope: "Scope", send: "Send", visitor: str) -> "Send":
    """Count the answer to a request, and log it unless it is a file of the app or a question of a monitor."""
    path, begun = scope["path"], time.monotonic()
    quiet = path.startswith("/static/") or path.endswith((_HEALTH, OWN_METRICS))

    async def noted(message: "Message") -> None:
        if message["type"] == "http.response.start":
            store().counts.request(message["status"])
            if not quiet:
                seconds = time.monotonic() - begun
                metrics.log(
                    "request",
                    method=scope["method"],
                    path=_UPLOAD.sub(_NO_NAMES, path),
                    status=message["status"],
                    seconds=seconds,
                    visitor=visitor,
                )
        await send(message)

    return noted


def is_operator(headers: Headers, scope: "Scope", rules: Rules) -> bool:
    """Return whether a request may see metrics: with the token, or from this machine where there is none."""
    if rules.metrics_token:
        expected = f"Bearer {rules.metrics_token}".encode()
        return hmac.compare_digest(headers.get("authorization", "").encode(), expected)
    forwarded = any(name in headers for name in (*_FORWARDED, *filter(None, [rules.proxy_header])))
    client = scope["client"][0] if scope.get("client") else ""
    return not forwarded and _is_loopback(client) and _is_loopback(_name(headers.get("host", "")))


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


async def _read_to_the_end(receive: "Receive") -> None:
    """Read what is left of an upload, up to the largest one, and forget it."""
    left = LARGEST_UPLOAD
    while left > 0:
        message = await receive()
        left -= max(1, len(message.get("body", b"")))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def visitor_of(scope: "Scope", headers: Headers, rules: Rules) -> str:
    """Return the visitor of a request: an address, of which IPv6 gives each customer many."""
    address = scope["client"][0] if scope.get("client") else ""
    if rules.proxy_header:  # a proxy may add a line of its own, below what the visitor has sent
        address = ",".join(headers.getlist(rules.proxy_header)).rpartition(",")[2].strip() or address
    try:
        found = ip_address(_WITH_PORT.sub(r"\1", address))
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
    return str(found)


def _with_names(scope: "Scope", names: Mapping[str, str]) -> list[owners.Header]:
    """Return the headers of a request with those that the guard alone writes."""
    written = {name.lower().encode(): value.encode("latin-1") for name, value in names.items()}
    return [*((key, value) for key, value in scope["headers"] if key not in written), *written.items()]


def _name(host: str) -> str:
    """Return the name of a host without its port, as it is compared."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""
