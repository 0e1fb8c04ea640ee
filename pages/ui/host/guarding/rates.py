"""What one session and one visitor may take at a time: messages, bytes, and time of the server that others share."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pages.ui.host.queueing.first_pages import FirstPages

# Shares of the server's time, and seconds of it at once: a page takes 0.05 s, the heaviest ones take 1 s.
SESSION_SHARE, SESSION_AT_ONCE = 0.15, 1.0
VISITOR_SHARE, VISITOR_AT_ONCE = 0.25, 2.0
CLASS_SHARE, CLASS_AT_ONCE = 0.015, 0.2  # of each session of a class behind one address, where that is more
_MOST_SHARE = 0.5
_LATELY = 10.0  # seconds for which a visitor counts as using the app
_INTERRUPTED = 0.05  # seconds that a script is assumed to continue after it was interrupted
_LOOK = 0.05  # seconds between two looks whether a script has ended
_FIRST_PAGE = 2.0  # seconds after which a first page no longer keeps others from beginning


@dataclass(eq=False, kw_only=True)
class RateLimit:
    """At most `rate` per second on average, and `at_once` in a burst; `used` is what counts against the burst now."""

    rate: float
    at_once: float
    used: float = 0.0
    checked: float = 0.0

    def wait(self, amount: float = 0.0) -> float:
        """Count an amount, and return the seconds until it may be taken."""
        now = time.monotonic()
        self.used = max(0.0, self.used - (now - self.checked) * self.rate) + amount
        self.checked = now
        return max(0.0, (self.used - self.at_once) / self.rate)


@dataclass(eq=False, kw_only=True)
class RateLimits:
    """The same limit for each visitor."""

    rate: float
    at_once: float
    known: dict[str, RateLimit] = field(default_factory=dict)

    def of(self, visitor: str) -> RateLimit:
        """Return the limit of a visitor; those that have used nothing lately are forgotten."""
        self.known = {name: limit for name, limit in self.known.items() if limit.wait() or limit.used}
        return self.known.setdefault(visitor, RateLimit(rate=self.rate, at_once=self.at_once))


@dataclass(eq=False)
class ServerTime:
    """The server's time for scripts: scripts that run at the same time have equal parts of it.

    `clock`: the time that a script would have had if it had run from the start. `lately`: when each visitor's last
    script began or ended.
    """

    clock: float = 0.0
    told: float = 0.0
    running: int = 0
    visitors: RateLimits = field(default_factory=lambda: RateLimits(rate=VISITOR_SHARE, at_once=VISITOR_AT_ONCE))
    lately: dict[str, float] = field(default_factory=dict)
    sessions: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def present(self, visitor: str) -> Iterator[None]:
        """Count a session of a visitor while the body runs."""
        self.sessions[visitor] += 1
        try:
            yield
        finally:
            self.sessions[visitor] -= 1
            self.sessions += Counter()  # forgets visitors without a session

    def limit_of(self, visitor: str) -> RateLimit:
        """Return the limit of a visitor, which grows with its sessions: else a class would wait for itself."""
        limit, count = self.visitors.of(visitor), self.sessions[visitor]
        limit.rate = min(_MOST_SHARE, max(VISITOR_SHARE, count * CLASS_SHARE))
        limit.at_once = max(VISITOR_AT_ONCE, count * CLASS_AT_ONCE)
        return limit

    def change(self, by: int, visitor: str) -> float:
        """Note that a script of a visitor began or ended, or neither, and return the clock."""
        now = time.monotonic()
        self.clock += (now - self.told) / max(1, self.running)
        self.told, self.running = now, self.running + by
        self.lately = {name: when for name, when in self.lately.items() if when > now - _LATELY} | {visitor: now}
        return self.clock

    def is_shared(self, visitor: str) -> bool:
        """Return whether others use the app."""
        limit = time.monotonic() - _LATELY
        return any(when > limit for name, when in self.lately.items() if name != visitor)


@dataclass(eq=False)
class SessionTime:
    """The server's time that one session takes; `begun`: the clock when its script began, if one runs."""

    server: ServerTime
    visitor: str
    limit: RateLimit = field(default_factory=lambda: RateLimit(rate=SESSION_SHARE, at_once=SESSION_AT_ONCE))
    begun: float | None = None

    def begin(self) -> None:
        """Note that a script began; it interrupts the one before."""
        if self.begun is not None:
            self.end()
            self._take(_INTERRUPTED)
        self.begun = self.server.change(1, self.visitor)

    def end(self) -> None:
        """Note that the script has ended, if one runs."""
        if self.begun is not None:
            self._take(self.server.change(-1, self.visitor) - self.begun)
            self.begun = None

    def wait(self) -> float:
        """Return the seconds until the session may run its next script; call this again after that time."""
        seconds = max(self.limit.wait(), self.server.limit_of(self.visitor).wait())
        if not seconds or not self.server.is_shared(self.visitor):
            return 0.0
        return _LOOK if self.begun is not None else min(seconds, 1.0)

    def _take(self, seconds: float) -> None:
        self.limit.wait(seconds)
        self.server.limit_of(self.visitor).wait(seconds)


@dataclass(eq=False)
class Opening:
    """The first page of a session, which has one of the `places` while it is drawn, for some seconds at most."""

    places: asyncio.Semaphore
    pages: FirstPages
    has_begun: bool = False
    is_coming: bool = False
    drawn_from: float = 0.0
    until: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Wait for a place, the first time."""
        if not self.has_begun:
            self.has_begun = self.is_coming = True
            self.pages.coming += 1
            await self.places.acquire()
            self.drawn_from = time.monotonic()
            self.until = asyncio.get_running_loop().call_later(_FIRST_PAGE, self.drawn)

    def drawn(self) -> None:
        """Note that a page of the session has ended, or that its first one has taken too long."""
        if self.until is not None:
            self.pages.note(time.monotonic() - self.drawn_from)
        self.end()

    def end(self) -> None:
        """Let go of the place, if it has one, or wait for none any more."""
        if self.is_coming:
            self.is_coming = False
            self.pages.coming -= 1
        if self.until is not None:
            self.until.cancel()
            self.until = None
            self.places.release()
