"""Answers whose visitors have left: they make room for those who wait."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pages.ui.host.request import Request

GONE_SECONDS = 10.0  # within which a page that is loaded again finds its answer
LOOK_SECONDS = 1.0


class Admitted(Protocol):
    """A job of a `request`, `waiting` until it has its model; one of its `sessions` was connected at the time `shown`.

    `absent`: none is; `left`: it was ended for that.
    """

    request: "Request"
    waiting: bool
    sessions: set[str]
    shown: float
    absent: bool
    left: bool
    cancel: threading.Event


def stop_left(jobs: Iterable[Admitted], is_connected: Callable[[str], bool]) -> None:
    """Note which answers have a visitor; after some seconds without, end those that wait, or that others wait for."""
    jobs, now = list(jobs), time.monotonic()
    for job in jobs:
        job.absent = not any(map(is_connected, tuple(job.sessions)))
        if not job.absent:
            job.shown = now
    is_awaited = any(job.waiting and not job.absent for job in jobs)
    for job in jobs:
        if now - job.shown > GONE_SECONDS and (job.waiting or is_awaited):
            job.left = True
            job.cancel.set()
