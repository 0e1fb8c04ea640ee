"""The answers that clients of the endpoint beside the app got: kept in memory, the latest of the last hours."""

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pages.ui.host.kept import KeptAnswers

if TYPE_CHECKING:
    from rauq.trace.trace import Trace
    from serve.job import Ending

CLIENTS = "clients"  # all clients are this one visitor of the app: in its queue, and where answers are evicted
HOUR = 3600.0  # seconds


@dataclass(frozen=True, eq=False, kw_only=True)
class ClientAnswer:
    """An answer under the name by which the app finds it.

    `text`: without the stop text. `uncertainty`: RAUQ's, in nats, as the client got it; None where it has none.
    `query`: the URL parameters with which Inspect shows it. `at`: when it ended, by `time.time`.
    """

    name: str
    trace: "Trace"
    text: str
    ending: "Ending"
    uncertainty: float | None
    query: Mapping[str, str]
    at: float = field(default_factory=time.time)


@dataclass(eq=False)
class ClientAnswers:
    """The latest answers, at most `most` of them and none older than `seconds`; all are among those `kept`."""

    most: int
    seconds: float
    kept: KeptAnswers
    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: deque[ClientAnswer] = field(default_factory=deque)

    def keep(self, answer: ClientAnswer) -> None:
        """Keep an answer that has ended."""
        self.kept.keep(answer.trace, name=answer.name, visitor=CLIENTS, session=answer.name)
        with self.lock:
            self.answers.append(answer)
        self.expire()

    def latest(self) -> list[ClientAnswer]:
        """Return the answers that are still there, the latest first."""
        self.expire()
        with self.lock:
            return list(reversed(self.answers))

    def expire(self) -> None:
        """Drop those that are too old, too many, or were evicted: memory was needed for others."""
        oldest = time.time() - self.seconds
        with self.lock:
            surplus = len(self.answers) - self.most
            for place, answer in list(enumerate(self.answers)):
                if place < surplus or answer.at < oldest or self.kept.peek(answer.name) is None:
                    self.answers.remove(answer)
                    self.kept.drop(answer.name)
