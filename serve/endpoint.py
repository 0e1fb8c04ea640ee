"""The routes of the server, access control, and what is refused before a model runs."""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from serve import LOG
from serve.counts import CONTENT_TYPE, metrics
from serve.refusals import Refusal, refusal_of, where
from serve.requests import Kind, read_request
from serve.responses import Head
from serve.service import Answers, Service
from serve.streaming import begun, events, whole

LARGEST_BODY = 4 << 20  # bytes
_LARGEST_DISCARDED = 64 << 20  # of a body that is too large: a client that still sends does not read why
_BODY_SECONDS = 30.0
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")

_log = logging.getLogger(LOG)
Result = TypeVar("Result")
Endpoint = Callable[[Service, Request], Awaitable[Response]]


def application(service: Service) -> Starlette:
    """The server of one model."""
    routes = [
        Route("/health", _guarded(service, _health, is_open=True), methods=["GET"]),
        Route("/metrics", _guarded(service, _metrics), methods=["GET"]),
        Route("/v1/models", _guarded(service, _models), methods=["GET"]),
        Route("/v1/models/{name:path}", _guarded(service, _model), methods=["GET"]),
        Route("/v1/chat/completions", _guarded(service, partial(_answer, kind="chat")), methods=["POST"]),
        Route("/v1/completions", _guarded(service, partial(_answer, kind="text")), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_route})


def serves(method: str, path: str) -> bool:
    """Whether a request is for the endpoint, and not for an app beside it.

    A request that lacks /v1 gets an error that names the addresses.
    """
    lacks_prefix = method == "POST" and not path.startswith("/_stcore/")
    return lacks_prefix or path in ("/v1", "/health", "/metrics") or path.startswith("/v1/")


def _guarded(
    service: Service, endpoint: Endpoint, *, is_open: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint with access control, counted and logged, whose errors have OpenAI's form."""

    async def run(request: Request) -> Response:
        began, route = time.monotonic(), request.scope["route"].path
        try:
            if not is_open:
                _check_access(service, request)
            response = await endpoint(service, request)
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:  # noqa: BLE001 - the client is told, and the server goes on
            response = _refused(error)
        service.counts.request(route, response.status_code)
        _log.info("%s %s %d %.2f s", request.method, route, response.status_code, time.monotonic() - began)
        return response

    return run


def _refused(error: Exception) -> Response:
    refusal = refusal_of(error)
    if refusal.status == 500:
        _log.error("request failed: %s", where(error))
    return JSONResponse(refusal.body, refusal.status)


async def _no_route(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = {404: "There is no such address", 405: "The address does not take this method"}.get(status, "Refused")
    message = f"{what}. There are GET /v1/models and POST /v1/chat/completions and /v1/completions."
    return JSONResponse(Refusal(status, message).body, status)


def _check_access(service: Service, request: Request) -> None:
    """Refuse requests without the key or, where there is none, requests from pages of other sites in a browser here.

    Raises:
        Refusal: so.
    """
    if service.key:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), service.key.encode()):
            message = "The API key is missing or wrong. Send the header Authorization: Bearer KEY."
            raise Refusal(401, message, code="invalid_api_key")
    elif request.headers.get("host", "").rsplit(":", 1)[0] not in _LOCAL_NAMES and request.url.hostname != "::1":
        message = "Without RAUQ_API_KEY the server answers on 127.0.0.1 and localhost alone."
        raise Refusal(403, message)


async def _health(service: Service, _request: Request) -> Response:
    is_stopping = service.worker.is_stopping
    return JSONResponse({"status": "stopping" if is_stopping else "ok"}, 503 if is_stopping else 200)


async def _metrics(service: Service, _request: Request) -> Response:
    worker = service.worker
    text = metrics(service.counts, waiting=len(worker.waiting), running=len(worker.running))
    return PlainTextResponse(text, media_type=CONTENT_TYPE)


async def _models(service: Service, _request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [_about(service)]})


async def _model(service: Service, request: Request) -> Response:
    _check_model(service, request.path_params["name"])
    return JSONResponse(_about(service))


def _about(service: Service) -> dict[str, Any]:
    return {"id": service.lm.name, "object": "model", "created": 0, "owned_by": "rauq"}


def _check_model(service: Service, name: str) -> None:
    if name != service.lm.name:
        message = f"The model {name[:100]!r} is not served here; {service.lm.name!r} is."
        raise Refusal(404, message, param="model", code="model_not_found")


async def _answer(service: Service, request: Request, *, kind: Kind) -> Response:
    asked = read_request(await _body(request), kind)
    _check_model(service, asked.model)
    answers = Answers(service, asked, kind, base=str(request.base_url))
    head = Head(
        kind=kind,
        id=f"{'chatcmpl' if kind == 'chat' else 'cmpl'}-{secrets.token_hex(12)}",
        model=service.lm.name,
        fingerprint=service.lm.revision[:12],
    )
    try:
        with service.worker.expecting():
            await asyncio.to_thread(answers.submit)
        if not asked.stream:
            found = await _unless_gone(request, whole(answers, head))
            answers.leave()
            return JSONResponse(found)
        first = await _unless_gone(request, begun(answers))
        service.counts.began(time.monotonic() - answers.began)
    except BaseException:
        answers.leave()
        raise
    return _Stream(events(answers, head, first), answers)


class _Stream(StreamingResponse):
    """Server-sent events; the answers end when the client goes."""

    def __init__(self, content: Any, answers: Answers) -> None:  # noqa: ANN401 - as of starlette
        super().__init__(content, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        self.answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.answers.leave()


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of some work, which is given up when the client goes.

    Raises:
        ClientDisconnect: it has gone.
    """
    doing, leaving = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        doing.cancel()
        leaving.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    """The body of a request for an answer.

    Raises:
        Refusal: no JSON, too large, or too slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "Send the body as JSON, with the header Content-Type: application/json.")
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= LARGEST_BODY:
                    body += chunk
                elif size > _LARGEST_DISCARDED:
                    break
    except TimeoutError as error:
        raise Refusal(408, f"The body has not come within {_BODY_SECONDS:g} s.") from error
    if size > LARGEST_BODY:
        raise Refusal(413, f"The body is larger than {LARGEST_BODY:,} bytes. Shorten the prompt.")
    return bytes(body)
