"""JSON requests to a server that the user named: they go nowhere else, and every failure has a message."""

import http.client
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from rauq.errors import EngineStopped, InvalidInput

KEY = "VLLM_API_KEY"  # the variable in which vLLM itself reads the key of its server
_SECONDS = 3600.0  # without a byte of the answer, which comes at once when it is whole
_LONGEST_REASON = 500  # characters of what a server says
_LARGEST = 2**30  # bytes of a response; that of 4,096 tokens, 32 layers and 32 heads, 8 keys back, has a sixth
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")  # which are not asked through a proxy


def checked_address(url: str) -> str:
    """The address of a server, without a slash or /v1 at its end.

    Raises:
        InvalidInput: it is not the address of a server.
    """
    try:
        found = urlsplit(url)
        is_address = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except ValueError:
        is_address = None
    if not is_address or found.query or found.fragment or found.username:
        message = f"Got {url!r} as the address of a server; give one such as http://127.0.0.1:8000."
        raise InvalidInput(message)
    return url.rstrip("/").removesuffix("/v1")


class _NoRedirect(HTTPRedirectHandler):
    """Follows none: prompts and key are for the server that was named."""

    def redirect_request(self, *_: Any) -> None:
        """None is followed."""


def _opener(address: str) -> OpenerDirector:
    own = urlsplit(address).hostname in _OWN_HOSTS
    return build_opener(_NoRedirect, *([ProxyHandler({})] if own else []))


def _headers() -> dict[str, str]:
    """Of a request.

    Raises:
        InvalidInput: a key that no header can carry.
    """
    key = os.environ.get(KEY, "").strip()
    if not key.isascii() or not key.isprintable():
        message = f"{KEY} in the environment has characters that no key has. Set it again."
        raise InvalidInput(message)
    return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


def json_of(address: str, body: Mapping[str, Any] | None = None) -> Any:
    """What a server answers, as JSON; without a body, to a GET.

    Raises:
        InvalidInput: it refuses the request; the message has its reason.
        EngineStopped: it cannot be reached, ended the connection, or failed.
    """
    request = Request(address, None if body is None else json.dumps(body).encode(), _headers())  # noqa: S310 - checked
    try:
        status, content = _exchanged(request)
    except (OSError, http.client.HTTPException) as error:
        message = f"The server at {address} does not answer ({getattr(error, 'reason', error)!s})."
        raise EngineStopped(message) from error
    if status in (400, 422):
        message = f"{address} answered {status}: {_reason(content)}"
        raise InvalidInput(message)
    if status != 200:
        hint = f" Set its key in the environment, as {KEY}." if status == 401 else ""
        message = f"{address} answered {status}: {_reason(content)}{hint}"
        raise EngineStopped(message)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        message = f"{address} did not answer with JSON ({error})."
        raise EngineStopped(message) from error


def _exchanged(request: Request) -> tuple[int, bytes]:
    """The status and the content of a response, of one that reports an error too."""
    try:
        with _opener(request.full_url).open(request, timeout=_SECONDS) as response:
            return response.status, response.read(_LARGEST)
    except HTTPError as error:
        with error:
            return error.code, error.read(_LONGEST_REASON * 10)


def _reason(content: bytes) -> str:
    """What a server says of an error, in one line."""
    text = content.decode(errors="replace")
    try:
        said = json.loads(text)["error"]
        text = str(said["message"] if isinstance(said, dict) else said)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return " ".join(text.split())[:_LONGEST_REASON] or "no reason is given"
