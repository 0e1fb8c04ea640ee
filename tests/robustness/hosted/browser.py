"""HTTP as a browser of one visitor sends it to a hosted app, and its uploads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

from tests.robustness.client import NO_HEADERS
from tests.robustness.hosted.proxy import trusting

PROXY_HEADER = "X-Test-Visitor"
BY_PROXY = ("--proxy-header", PROXY_HEADER)
_PATIENCE = 60.0  # seconds
_BOUNDARY = "----rauq"


def as_visitor(name: str) -> Mapping[str, str]:
    """The header by which the proxy names a visitor."""
    return {PROXY_HEADER: name}


@dataclass(frozen=True)
class Answer:
    """What the server answers."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(eq=False)
class Browser:
    """The requests of one visitor; `source`: its address of this machine, by which a host knows it without a header."""

    address: str
    visitor: str
    source: str = ""
    token: str = field(init=False, default="")

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes | Iterable[bytes] | None = None,
    ) -> Answer:
        """The answer to one request; a body of several parts is sent in chunks."""
        connection = self._connection()
        try:
            connection.request(method, path, body, {**as_visitor(self.visitor), **headers})
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        parts, source = urlsplit(self.address), (self.source, 0) if self.source else None
        if parts.scheme == "https":
            return HTTPSConnection(parts.netloc, timeout=_PATIENCE, source_address=source, context=trusting())
        return HTTPConnection(parts.netloc, timeout=_PATIENCE, source_address=source)

    def upload(self, session: str, file: str, content: bytes, *, name: str = "a.csv", chunked: bool = False) -> Answer:
        """The answer to a file that is put straight to the server."""
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        return self.put(session, file, iter([body]) if chunked else body)

    def put(self, session: str, file: str, body: bytes | Iterable[bytes]) -> Answer:
        """The answer to a form that should hold a file; its parts are sent in chunks."""
        headers = self._with_token() | {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
        return self.ask(_path(session, file), method="PUT", headers=headers, body=body)

    def remove(self, session: str, file: str) -> Answer:
        """The answer to the removal of a file."""
        return self.ask(_path(session, file), method="DELETE", headers=self._with_token())

    def _with_token(self) -> dict[str, str]:
        self.token = self.token or self.ask("/_stcore/health").headers["set-cookie"].partition(";")[0]
        _, _, token = self.token.partition("=")
        return {"Cookie": self.token, "X-Xsrftoken": token}


def _path(session: str, file: str) -> str:
    return f"/_stcore/upload_file/{session}/{file}"
