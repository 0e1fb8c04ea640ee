"""For how long a job in a queue will still wait, by the pace of the turns before, and how far the running one is."""

import math
import time
from collections.abc import Sequence
from typing import Protocol

from pages.ui.host.queueing.pace import LEAST_TOKENS, SLOWED, Work, amount, disturbed, seconds_before
from pages.ui.host.queueing.queue import Place, Queue

_MOST_LATE = 0.5  # of the seconds of the next turn, which is late because the running one is


class Waiting(Protocol):
    """A job: its work, and the texts of the tokens that it has so far."""

    pieces: list[str]

    @property
    def work(self) -> Work:
        """What it asks of the model."""


def seconds_until(job: Waiting, queue: Queue, line: Sequence[Place], *, most: int, pages: float = 0.0) -> float:
    """Return the seconds until a job in line has its turn, of at most so many jobs; nan if no pace is known.

    `pages`: the seconds that the server still takes to draw the pages of those who have just come.
    """
    place = [one.work for one in line].index(job)
    left, late = _running(queue)
    before = seconds_before(place, [_work_of(one) for one in line], queue.pace, most=most)
    return disturbed(left + sum(before) + (min(late, _MOST_LATE * before[0]) if before else 0.0), pages)


def _running(queue: Queue) -> tuple[float, float]:
    """Return the seconds that the running turn will still take, and how many more it takes than was expected.

    The next turn will be late too, but not those after it: what makes a turn slow, such as a crowd whose pages are
    drawn, is over before they begin.
    """
    if (running := queue.running) is None:
        return 0.0, 0.0
    together = (running, *running.along)
    turn = [_work_of(place) for place in together]
    done = max(len(place.work.pieces) if place.work is not None else 0 for place in together)
    took, expected = time.monotonic() - running.begun, queue.pace.of(turn)
    share = min(1.0, amount(turn, done) / amount(turn))
    left = _left(took, expected, share, has_just_begun=done < LEAST_TOKENS)
    return left, max(0.0, took + left - expected)


def _left(took: float, expected: float, share: float, *, has_just_begun: bool) -> float:
    """Return the seconds that a turn will still take: a mean of what the usual pace and its own say.

    Its own pace has more weight the more of the turn is done, or the longer it takes in comparison with the usual one.
    """
    as_begun = took * (1 - share) / share
    if math.isnan(expected):
        return math.nan if has_just_begun else as_begun
    own = min(1.0, max(share, took / (SLOWED * expected)))
    left = (expected * (1 - share)) ** (1 - own) * as_begun**own
    return max(left, expected - took) if has_just_begun else left


def _work_of(place: Place) -> Work:
    return place.work.work if place.work is not None else Work(None)
