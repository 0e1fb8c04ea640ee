"""The queue of a model: visitors take turns, and one turn may answer several."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pages.ui.host.queueing.pace import Pace
from rauq.errors import Stopped

_POLL_SECONDS = 0.1  # seconds between checks whether a waiting job was stopped
_POLLS = 50.0  # a second, of all waiting jobs: each takes the interpreter from the one that generates


@dataclass(eq=False)
class Place:
    """A place in a queue, of a visitor's job.

    Once it is `taken`, another job, which has its turn, does the `work` of this one too; then the place is `done`.
    `begun`: when its turn began, by `time.monotonic`; `along`: the places whose work is done in it. `share`: of a
    round.
    """

    visitor: str
    round: float
    work: Any = None
    taken: bool = False
    share: float = 0.0
    begun: float = math.nan
    along: Sequence["Place"] = ()
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def order(self) -> tuple[bool, float]:
        """What orders the queue: those whose visitor has left come last."""
        return self.work is not None and self.work.absent, self.round


# Ours, because a process with a ThreadPoolExecutor(1) cannot exit during a generation, nor see whether one waits.
@dataclass(eq=False)
class Queue:
    """The jobs that wait for a model, and the one that has it.

    Visitors take turns, as flows do in weighted fair queueing with equal weights. A job belongs to the present round,
    or to that after the one before of its visitor, while that one is here: a new visitor waits for one answer at most
    of each of those before, or for a batch of answers. With each answer the present round goes on, by one among as many
    visitors as wait: however many new ones come, they overtake nobody for ever. Within a round, and among the jobs of
    one visitor, the order is that of arrival. Jobs whose visitor has left come last.

    The first turn of a model takes longer than those after it: while it `is_cold`, a turn tells nothing of the pace.
    """

    moved: threading.Condition = field(default_factory=threading.Condition)
    running: Place | None = None
    waiting: list[Place] = field(default_factory=list)
    round: float = 0.0
    last: dict[str, float] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)
    is_cold: bool = True

    @property
    def length(self) -> int:
        """How many jobs wait or run, without those that were taken along."""
        return len(self.waiting) + (self.running is not None)

    @contextmanager
    def turn(self, cancel: threading.Event, visitor: str, work: object = None) -> Iterator[bool]:
        """Wait for a turn of this visitor and hold it in the body: True.

        False: another job took the `work` along and has ended, with or without an answer to it.

        Raises:
            Stopped: cancelled while waiting.
        """
        place = self._join(visitor, work)
        try:
            with self.moved:
                while not place.taken and not cancel.is_set() and not self._is_next(place):
                    self.moved.wait(max(_POLL_SECONDS, len(self.waiting) / _POLLS))
                if not place.taken:
                    raise_if_stopped(cancel)
                    self._start(place)
            if place.taken:
                place.done.wait()
            yield not place.taken
        finally:
            self._leave(place)

    @contextmanager
    def taking_along(self, fits: Callable[[Any], bool], most: int) -> Iterator[list[Place]]:
        """Take the places of at most so many waiting jobs whose work fits, in the order of their turns.

        The body does their work.
        """
        with self.moved:
            places = list(islice((place for place in self._in_order() if fits(place.work)), most))
            for place in places:
                place.taken = True
                self.waiting.remove(place)
                place.share = self.running.share if self.running is not None else 0.0
            if self.running is not None:
                self.running.along = places
            self.moved.notify_all()
        try:
            yield places
        finally:
            for place in places:
                place.done.set()

    def line(self, newcomer: str | None = None, work: object = None) -> list[Place]:
        """Return the places that wait, in the order of their turns; with that which a newcomer's `work` would have."""
        with self.moved:
            return self._in_order([] if newcomer is None else [self._place(newcomer, work)])

    def _in_order(self, others: Sequence[Place] = ()) -> list[Place]:
        return sorted([*self.waiting, *others], key=lambda place: place.order)

    def _place(self, visitor: str, work: object) -> Place:
        return Place(visitor, max(self.round, self.last.get(visitor, -math.inf) + 1), work)

    def _join(self, visitor: str, work: object = None) -> Place:
        with self.moved:
            place = self._place(visitor, work)
            self.last[visitor] = place.round
            self.waiting.append(place)
            self.moved.notify_all()
            return place

    def _is_next(self, place: Place) -> bool:
        return self.running is None and min(self.waiting, key=lambda waiting: waiting.order) is place

    def _start(self, place: Place) -> None:
        place.share = 1 / len({waiting.visitor for waiting in self.waiting})
        self.waiting.remove(place)
        self.running, self.round, place.begun = place, max(self.round, place.round), time.monotonic()

    def _leave(self, place: Place) -> None:
        with self.moved:
            if self.running is place:
                self.running = None
            elif not place.taken:
                self.waiting.remove(place)
            self.round += place.share
            if all(other.visitor != place.visitor for other in self._here()):
                self.last.pop(place.visitor, None)
            self.moved.notify_all()

    def _here(self) -> Iterator[Place]:
        """The places that wait, and those that are answered."""
        yield from self.waiting
        if self.running is not None:
            yield from (self.running, *(place for place in self.running.along if not place.done.is_set()))


def raise_if_stopped(cancel: threading.Event) -> None:
    """Raise if cancelled.

    Raises:
        Stopped: cancelled.
    """
    if cancel.is_set():
        message = "Stopped before the first token."
        raise Stopped(message)
