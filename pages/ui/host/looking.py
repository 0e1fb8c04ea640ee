"""How often a page looks at a job, and what it says of one that waits."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pages.ui.host import hosting, models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.queueing.waiting import Waiting, seconds_until
from pages.ui.host.store import store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pages.ui.host.queueing.queue import Place, Queue
    from pages.ui.host.request import Request

MOST_TOGETHER = 8  # answers that a host generates in one batch
_OFTEN, _SELDOM = 0.2, 0.5  # seconds between two polls of a job that grows, and of one that waits
_ALONE = 0.05  # seconds between two polls of the only job, while its answer grows: a token is to be seen at once
_WAITING_POLLS, _GROWING_POLLS = 4.0, 10.0  # a second, of all jobs that have a visitor
_MORE_OFTEN = 2.0  # by what factor a page has to look more often than it does, to run again for that


class Followed(Waiting, Protocol):
    """A job of a `request` that a page follows, with its `stage` in words and when it was `created`.

    `stated`: the seconds until its turn, as a page said first; nan before.
    """

    request: "Request"
    stage: str
    waiting: bool
    created: float
    stated: float

    @property
    def live(self) -> bool:
        """Whether it has not ended."""


def poll_seconds(job: Followed) -> float:
    """Return after how many seconds a page looks at a job again; where there are many jobs, each looks less often.

    A poll takes time from the thread that imports torch or generates for others, and is of no use between two tokens of
    a slow model, nor long before a job has its turn.
    """
    present = [other for other in list(store().jobs.jobs) if not other.absent]
    if job.waiting:
        _, until = _place(job) or (0, math.nan)
        crowded = len(present) / _WAITING_POLLS
        return max(_SELDOM, crowded if math.isnan(until) else min(crowded, until))
    growing, speed = sum(not other.waiting for other in present), tokens_per_second(job.request.model)
    is_slow = speed is not None and speed * _OFTEN < 1
    return max(_OFTEN, growing / _GROWING_POLLS) if len(present) > 1 or is_slow else _ALONE


def has_moved(job: Followed, *, waiting: bool, every: float) -> bool:
    """Return whether a page has to run again: its job has ended, waits no more, or is soon to have its turn.

    `waiting` and `every`, how often the page looks at the job, are those of when it ran.
    """
    return not job.live or job.waiting != waiting or (waiting and _MORE_OFTEN * poll_seconds(job) < every)


def stage(job: Followed) -> str:
    """Say what a job does; where others are first, how many and for about how long."""
    if (place := _place(job)) is None:
        return job.stage
    before, seconds = place
    if math.isnan(job.stated):
        job.stated = time.monotonic() - job.created + seconds
    about = "" if math.isnan(seconds) else f", about {max(1, round(seconds))} s"
    return f"Waiting for {_answers(before)}{about}"


def _place(job: Followed) -> tuple[int, float] | None:
    """Return how many wait before a job on a host, and for how many seconds it does; None where it does not wait."""
    if not job.waiting or not hosting.is_hosted() or (lm := models.if_loaded(job.request.model)) is None:
        return None
    queue = models.queue(lm)
    line = queue.line()
    before = next((place for place, other in enumerate(line) if other.work is job), None)
    return None if before is None else (before, seconds_until_turn(job, queue, line))


def _answers(before: int) -> str:
    return f"{before + 1} other answers" if before else "the running answer"


def seconds_until_turn(job: Followed, queue: "Queue", line: "Sequence[Place]") -> float:
    """Return the seconds until a job in line has its turn; nan if no pace is known."""
    return seconds_until(job, queue, line, most=MOST_TOGETHER, pages=store().first_pages.seconds)


def tokens_per_second(choice: ModelChoice) -> float | None:
    """Return the speed of the last answer that a model generated alone in this app; None if there is none."""
    return store().speeds.get(replace(choice, kind=None))
