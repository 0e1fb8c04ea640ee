"""For how long a job in a queue will still wait, by the pace of the turns before, and of the one that is running."""

import time
from collections.abc import Sequence
from typing import Protocol

from pages.ui.host.queueing.pace import LEAST_TOKENS, Pace, Work, amount, seconds_before
from pages.ui.host.queueing.queue import Place, Queue


class Waiting(Protocol):
    """A job: its work, and the texts of the tokens that it has so far."""

    pieces: list[str]

    @property
    def work(self) -> Work:
        """What it asks of the model."""


def seconds_until(job: Waiting, queue: Queue, line: Sequence[Place], *, most: int) -> float:
    """Return the seconds until a job in line has its turn, of at most so many jobs; nan if no pace is known."""
    left, pace = _running(queue)
    place = [one.work for one in line].index(job)
    return left + seconds_before(place, [_work_of(one) for one in line], pace, most=most)


def _running(queue: Queue) -> tuple[float, Pace]:
    """Return the seconds that the running turn will still take, and the pace with what it tells so far."""
    if (running := queue.running) is None:
        return 0.0, queue.pace
    together = (running, *running.along)
    turn = [_work_of(place) for place in together]
    done = max(len(place.work.pieces) if place.work is not None else 0 for place in together)
    took = time.monotonic() - running.begun
    whole = took * amount(turn) / amount(turn, done)  # if it goes on as it began
    expected = queue.pace.of(turn)
    if done >= LEAST_TOKENS or whole > expected:
        return max(0.0, whole - took), queue.pace.after(turn, whole)
    return expected - took, queue.pace


def _work_of(place: Place) -> Work:
    return place.work.work if place.work is not None else Work(None)
