"""What the app's process keeps for all sessions: the model and its queues, jobs, and what each session owns.

It is not in Streamlit's caches, since any client can empty those with one message. On a host a visitor is an address,
which the guard writes into each request.
"""

import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.host import hosting
from pages.ui.host.hosting import Busy, ModelChoice
from pages.ui.host.kept import KeptAnswers
from pages.ui.host.monitoring.metrics import Counts
from pages.ui.host.queueing.first_pages import FirstPages
from pages.ui.host.stored_runs import AllStored

if TYPE_CHECKING:
    from pages.ui.host.clients import ClientAnswers
    from pages.ui.host.queueing.leaving import Admitted
    from pages.ui.host.queueing.queue import Queue
    from rauq.model.language_model import LanguageModel

MOST_UNSEEN = 16  # jobs that ended while no tab showed them
UNSEEN_SECONDS = 600.0  # that such a job is kept
_READ_AT_ONCE = 2  # uploads: a process that reads one takes up to 1.5 GiB and a core
_READ_SECONDS = 60.0  # that an upload waits until it is read


@dataclass(eq=False)
class Loaded:
    """The model in memory, if any; it is freed before another one is loaded.

    `choice` is what was loaded, without a kind: a kind is a view of the same weights. A running job keeps the previous
    model until it ends; if that model is requested again in the meantime, it is found in `alive`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    choice: ModelChoice | None = None
    model: "LanguageModel | None" = None
    alive: "WeakValueDictionary[ModelChoice, LanguageModel]" = field(default_factory=WeakValueDictionary)


@dataclass(eq=False)
class JobRegistry:
    """The running and waiting jobs of all sessions, each with its visitor.

    Admission is atomic: two at once cannot share the last place. None is admitted once the host is `stopping`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    jobs: "dict[Admitted, str]" = field(default_factory=dict)
    stopping: bool = False

    def admit(self, job: "Admitted", visitor: str) -> None:
        """Admit a job.

        Raises:
            Busy: the host's limit is reached, for all or for this visitor, or the host is stopping.
        """
        most = hosting.limits()
        with self.lock:
            if self.stopping:
                message = "This host is about to restart and takes no new work. Try again in a minute."
                raise Busy(message)
            if len(self.jobs) >= most.generations and not self._end_one_that_left():
                message = (
                    f"{most.generations} generations are running or waiting on this host, its limit. Try again in a "
                    "minute."
                )
                raise Busy(message)
            if list(self.jobs.values()).count(visitor) >= most.generations_each:
                message = (
                    f"{most.generations_each} generations of your address are running or waiting, the limit of this "
                    "host. Try again once one of them has ended."
                )
                raise Busy(message)
            self.jobs[job] = visitor

    def _end_one_that_left(self) -> bool:
        """End the waiting job whose visitor left first; return whether there is one."""
        gone = [job for job in self.jobs if job.waiting and job.absent]
        if gone:
            first = min(gone, key=lambda job: job.shown)
            first.left = True
            first.cancel.set()
            del self.jobs[first]
        return bool(gone)

    def dismiss(self, job: "Admitted") -> None:
        """Remove a job."""
        with self.lock:
            self.jobs.pop(job, None)


class Keyed(Protocol):
    """A job of a visitor that a tab can find again."""

    visitor: str

    @property
    def live(self) -> bool:
        """Whether it is still running."""


@dataclass(eq=False)
class KeyedJobs:
    """Jobs by a key that cannot be guessed and that only the tab has that began them: loaded again, it finds its job.

    Running jobs are kept, and for some minutes those that ended before a tab showed them; where there are too
    many, the oldest of the visitor who has most are dropped. The oldest come first.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    jobs: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    ended: dict[str, float] = field(default_factory=dict)

    def hold(self, job: Keyed) -> str:
        """Keep a job and return its key."""
        key = secrets.token_urlsafe(12)
        with self.lock:
            self._expire()
            self.jobs[key] = job
        return key

    def find(self, key: str) -> Any:  # noqa: ANN401 - as it was given
        """Return the job of a key; None if it has been seen, or ended too long ago."""
        with self.lock:
            self._expire()
            return self.jobs.get(key)

    def unseen(self) -> list[tuple[str, Any]]:
        """Return all jobs whose result no tab has shown yet, with their keys, the latest first."""
        with self.lock:
            self._expire()
            return list(reversed(self.jobs.items()))

    def release(self, key: str) -> None:
        """Drop a job, whose result has been shown."""
        with self.lock:
            self.jobs.pop(key, None)
            self._expire()

    def expire(self) -> None:
        """Drop those that ended too long ago."""
        with self.lock:
            self._expire()

    def _expire(self) -> None:
        now = time.monotonic()
        ended = [key for key, job in self.jobs.items() if not job.live]
        self.ended = {key: self.ended.get(key, now) for key in ended}
        kept = [key for key in ended if now - self.ended[key] <= UNSEEN_SECONDS]
        held = Counter(self.jobs[key].visitor for key in kept)
        while len(kept) > MOST_UNSEEN:
            whose = max(held, key=held.__getitem__)
            kept.remove(next(key for key in kept if self.jobs[key].visitor == whose))
            held[whose] -= 1
        for key in set(ended) - set(kept):
            del self.jobs[key]


@dataclass(eq=False)
class UploadSlots:
    """The visitors whose uploads are being read, one each; others wait for at most `patience` seconds."""

    free: threading.Condition = field(default_factory=threading.Condition)
    visitors: set[str] = field(default_factory=set)
    patience: float = _READ_SECONDS

    @contextmanager
    def place(self, visitor: str) -> Iterator[None]:
        """Wait for a place and hold it in the body.

        Raises:
            Busy: none has become free, or another upload of this visitor is still being read.
        """
        with self.free:
            if not self.free.wait_for(lambda: self._has_room(visitor), self.patience):
                message = (
                    f"This host reads {_READ_AT_ONCE} uploads at once, and one of an address. Try again in a minute."
                )
                raise Busy(message)
            self.visitors.add(visitor)
        try:
            yield
        finally:
            with self.free:
                self.visitors.remove(visitor)
                self.free.notify_all()

    def _has_room(self, visitor: str) -> bool:
        return visitor not in self.visitors and len(self.visitors) < _READ_AT_ONCE


@dataclass(eq=False)
class Session:
    """Whose session it is, the name of its folder of runs, and when it was last connected, by `time.monotonic`.

    `owner`: the browser that may open it again.
    """

    visitor: str = ""
    owner: str = ""
    folder: str = ""
    connected: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class Store:
    """What the process keeps.

    `guarded`: the guard of the hosted mode stands before this server. `logs_prompts`: the log has prompts too.
    `clients`: the answers of the endpoint beside this app, if there is one.
    """

    guarded: bool = False
    logs_prompts: bool = False
    loaded: Loaded = field(default_factory=Loaded)
    queues: "WeakKeyDictionary[Any, Queue]" = field(default_factory=WeakKeyDictionary)
    jobs: JobRegistry = field(default_factory=JobRegistry)
    keyed: KeyedJobs = field(default_factory=KeyedJobs)
    counts: Counts = field(default_factory=Counts)
    first_pages: FirstPages = field(default_factory=FirstPages)
    starting: threading.Lock = field(default_factory=threading.Lock)
    speeds: dict[ModelChoice, float] = field(default_factory=dict)
    upload_slots: UploadSlots = field(default_factory=UploadSlots)
    answers: KeptAnswers = field(default_factory=KeptAnswers)
    stored_runs: AllStored = field(default_factory=AllStored)
    sessions: dict[str, Session] = field(default_factory=dict)
    clients: "ClientAnswers | None" = None

    def left(self, is_connected: Callable[[str], bool]) -> dict[str, Session]:
        """Return the sessions that have been gone for too long; they are no longer among `sessions`."""
        now, gone = time.monotonic(), {}
        for name, session in list(self.sessions.items()):
            if is_connected(name):
                session.connected = now
            elif now - session.connected > hosting.LEFT_SECONDS:
                gone[name] = self.sessions.pop(name)
        return gone


@cache
def store() -> Store:
    """Return the one store of this process."""
    return Store()


VISITOR_HEADER, OWNER_HEADER = "X-Rauq-Visitor", "X-Rauq-Owner"


def session_name() -> str:
    """Return the name of this session, which no visitor sees."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def session() -> Session:
    """Return what is known of this session; a visitor stays the same when the connection breaks."""
    name, known = session_name(), store().sessions
    if (found := known.get(name)) is not None:
        return found
    headers = st.context.headers if hosting.is_hosted() else {}
    new = Session(visitor=headers.get(VISITOR_HEADER, ""), owner=headers.get(OWNER_HEADER, ""))
    return known.setdefault(name, new)


def visitor() -> str:
    """Return the visitor of this session; empty where the app is not hosted: all sessions are one user's."""
    return session().visitor
