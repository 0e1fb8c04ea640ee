"""The answers that links refer to, in memory: bounded in number and in bytes."""

import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from rauq.trace.trace import Trace, memory_bytes

MOST_ANSWERS_BYTES = 256 * 2**20  # of kept answers: 35 of 200 tokens with 32 layers of 32 heads
MOST_ANSWERS = 2_000


@dataclass(eq=False)
class KeptAnswer:
    """An answer that links refer to, the visitor who has it kept, and the sessions that use it."""

    trace: Trace
    visitor: str
    num_bytes: int
    sessions: set[str]


@dataclass(eq=False)
class KeptAnswers:
    """Answers by a name that cannot be guessed, the least recently used first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: OrderedDict[str, KeptAnswer] = field(default_factory=OrderedDict)

    def keep(self, trace: Trace, *, name: str = "", visitor: str = "", session: str = "") -> str:
        """Keep an answer and return its name, a new one unless it is given or the answer is kept already.

        Where there are too many, the oldest answers of the visitor who has most are evicted.
        """
        size = memory_bytes(trace)
        with self.lock:
            known = next((known for known, kept in self.kept.items() if kept.trace is trace), "")
            name = name or known or secrets.token_urlsafe(12)
            if name != known:
                self.kept[name] = KeptAnswer(trace, visitor, size, set())
            self.kept[name].sessions.add(session)
            self.kept.move_to_end(name)
            self._evict()
        return name

    def find(self, name: str, *, session: str = "") -> Trace | None:
        """Return the answer of that name, which this session uses from now on; None if it was evicted."""
        with self.lock:
            if (kept := self.kept.get(name)) is None:
                return None
            self.kept.move_to_end(name)
            kept.sessions.add(session)
            return kept.trace

    def peek(self, name: str) -> Trace | None:
        """Return the answer of that name without a sign that it is used; None if it was evicted."""
        with self.lock:
            return kept.trace if (kept := self.kept.get(name)) is not None else None

    def drop(self, name: str) -> None:
        """Drop an answer, whoever uses it."""
        with self.lock:
            self.kept.pop(name, None)

    def release(self, session: str) -> None:
        """Drop the answers that only this session uses."""
        with self.lock:
            for name, kept in list(self.kept.items()):
                kept.sessions.discard(session)
                if not kept.sessions:
                    del self.kept[name]

    def _evict(self) -> None:
        self._evict_by(lambda kept: kept.num_bytes, MOST_ANSWERS_BYTES)
        self._evict_by(lambda _kept: 1, MOST_ANSWERS)

    def _evict_by(self, amount: Callable[[KeptAnswer], int], most: int) -> None:
        held: Counter[str] = Counter()
        for kept in self.kept.values():
            held[kept.visitor] += amount(kept)
        while len(self.kept) > 1 and held.total() > most:
            whose = max(held, key=held.__getitem__)
            oldest = next(name for name, kept in self.kept.items() if kept.visitor == whose)
            held[whose] -= amount(self.kept.pop(oldest))
