"""The answers that clients of the endpoint beside the app got: kept in memory, the latest of the last hours."""

import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pages.ui.host.kept import KeptAnswers

if TYPE_CHECKING:
    from rauq.trace.trace import Trace
    from serve.job import Ended, Ending

_VISITOR = "clients"  # whose answers are evicted first where clients have most


@dataclass(frozen=True, eq=False, kw_only=True)
class ClientAnswer:
    """An answer, under the name by which the app finds it among those `kept`.

    `at`: when it ended, by `time.time`. `uncertainty`: RAUQ's, in nats.
    """

    name: str
    at: float
    uncertainty: float
    settings: Mapping[str, str]
    ending: "Ending"
    text: str
    kept: KeptAnswers

    @property
    def is_defined(self) -> bool:
        """Whether it has a score, and a text that the score is of."""
        return bool(self.text.strip()) and math.isfinite(self.uncertainty)

    @property
    def trace(self) -> "Trace | None":
        """The recorded answer; None once memory was needed for others."""
        return self.kept.peek(self.name)


@dataclass(eq=False)
class ClientAnswers:
    """The latest answers, at most `most` of them and none older than `seconds`; all are among those `kept`."""

    most: int
    seconds: float
    kept: KeptAnswers
    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: deque[ClientAnswer] = field(default_factory=deque)

    def keep(self, ended: "Ended", uncertainty: float, settings: Mapping[str, str]) -> str:
        """Keep an answer that has ended, and return its name; `settings`: those of its score, as the URL has them."""
        name = secrets.token_urlsafe(12)
        self.kept.keep(ended.trace, name=name, visitor=_VISITOR, session=name)
        answer = ClientAnswer(
            name=name,
            at=time.time(),
            uncertainty=uncertainty,
            settings=settings,
            ending=ended.ending,
            text=ended.text,
            kept=self.kept,
        )
        with self.lock:
            self.answers.append(answer)
            self._drop_old()
        return name

    def latest(self) -> list[ClientAnswer]:
        """Return the answers that are still there, the latest first."""
        with self.lock:
            self._drop_old()
            return [answer for answer in reversed(self.answers) if answer.trace is not None]

    def _drop_old(self) -> None:
        oldest = time.time() - self.seconds
        surplus = len(self.answers) - self.most
        for answer in [one for place, one in enumerate(self.answers) if place < surplus or one.at < oldest]:
            self.answers.remove(answer)
            self.kept.release(answer.name)
