"""Which of several workers a browser is at: a cookie by which nginx sends it there again.

Any worker may answer the first request, which names one by chance, so that a class behind one address is spread over
all. A session that another worker has taken, since the one of the cookie has ended, stays with it.
"""

import secrets

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from pages.ui.host.guarding.owners import attributes
from pages.ui.serving.workers import this_worker

COOKIE = "rauq_worker"


def first_cookie(headers: Headers, *, in_frames: bool) -> str | None:
    """Return the header that sends a browser to a worker; None if it has one, or if there is only one."""
    count = this_worker().of
    if count == 1 or _named(headers) is not None:
        return None
    return _cookie(secrets.randbelow(count) + 1, in_frames=in_frames)


def own_cookie(headers: Headers, *, in_frames: bool) -> str | None:
    """Return the header that keeps a browser at this worker; None if it is sent here already."""
    worker = this_worker()
    if worker.of == 1 or _named(headers) == str(worker.number):
        return None
    return _cookie(worker.number, in_frames=in_frames)


def _named(headers: Headers) -> str | None:
    return cookie_parser(headers.get("cookie", "")).get(COOKIE)


def _cookie(number: int, *, in_frames: bool) -> str:
    return f"{COOKIE}={number}; {attributes(in_frames=in_frames)}"
