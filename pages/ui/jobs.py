"""One generation in the background: it streams into a `Job`, which the page polls and may cancel."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pages.ui import cache
from rauq.errors import RauqError
from rauq.trace import Trace

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for: an answer to generate, or, where `answer` is given, one to score."""

    model: str
    prompt: str
    answer: str | None = None
    max_new_tokens: int = 128


@dataclass(eq=False)
class Job:
    """A request being worked on. The worker writes, the page reads; no model is kept in it."""

    request: Request
    stage: str = "Loading the model"
    pieces: list[str] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    trace: Trace | None = None
    error: RauqError | None = None

    @property
    def live(self) -> bool:
        """Whether the worker is still at it."""
        return not self.done.is_set()


class Stopped(RauqError):
    """The user stopped the job before there was a token to keep."""


def start(request: Request) -> Job:
    """Begin to work on a request in a thread of its own."""
    job = Job(request)
    threading.Thread(target=_work, args=(job,), daemon=True, name="generation").start()
    return job


def refused(request: Request, error: RauqError) -> Job:
    """A job that ended before it began."""
    job = Job(request, error=error)
    job.done.set()
    return job


def _work(job: Job) -> None:
    try:
        job.trace = _answer(job)
    except RauqError as error:
        job.error = error
    except Exception as error:  # noqa: BLE001 - a thread has no caller: unreported, the page would wait for ever
        _log.exception("The generation failed")
        job.error = RauqError(f"The generation failed unexpectedly ({type(error).__name__}: {error}).")
    finally:
        job.done.set()


def _answer(job: Job) -> Trace:
    request = job.request
    lm = cache.model(request.model)
    job.stage = "Waiting for another generation"
    with _turn(lm.lock, job.cancel):
        if request.answer is not None:
            job.stage = "Reading the answer"
            return lm.read(request.prompt, request.answer)
        job.stage = "Generating"
        return lm.generate(
            request.prompt,
            max_new_tokens=request.max_new_tokens,
            last_row=True,
            on_token=lambda _index, _id, text: job.pieces.append(text),
            cancel=job.cancel,
        )


@contextmanager
def _turn(lock: "threading.RLock", cancel: threading.Event) -> Iterator[None]:
    """Hold the model's lock, unless cancelled while waiting for it."""
    while not lock.acquire(timeout=0.1):
        _check(cancel)
    try:
        _check(cancel)
        yield
    finally:
        lock.release()


def _check(cancel: threading.Event) -> None:
    if cancel.is_set():
        message = "Stopped before the first token."
        raise Stopped(message)
