"""How long an answer will wait: the turns before it, at the pace of those that have ended."""

import math
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

MOST_SECONDS = 120.0  # an answer that would wait longer is refused
_LAST = 5  # turns, whose median counts
_LEAST = 8  # new tokens of a turn that tells the pace: of fewer, most of the time is something else
_CHARACTERS = 80  # of a prompt, which take about as long as one new token


class Work(NamedTuple):
    """What an answer asks of the model: at most so many new `tokens` after a prompt of so many `characters`.

    It is answered together with others that have the same `common`; None: alone.
    """

    common: Hashable | None
    tokens: int = 1
    characters: int = 0

    @property
    def amount(self) -> float:
        """How much it is, in new tokens."""
        return self.tokens + self.characters / _CHARACTERS


@dataclass(eq=False)
class Pace:
    """Seconds that the last turns took for each new token that they were allowed, by how many answers they gave."""

    seconds: dict[int, deque[float]] = field(default_factory=dict)

    def note(self, turn: Sequence[Work], seconds: float) -> None:
        """Note a turn that has ended, unless it was too short to tell."""
        if max(work.tokens for work in turn) >= _LEAST:
            self.seconds.setdefault(len(turn), deque(maxlen=_LAST)).append(seconds / _amount(turn))

    def of(self, turn: Sequence[Work]) -> float:
        """Return the seconds that a turn will take, nan before any has ended; sizes not seen are as the nearest is."""
        known = list(self.seconds.items())
        if not known:
            return math.nan
        _, nearest = min(known, key=lambda pair: (abs(pair[0] - len(turn)), pair[0]))
        return median(nearest) * _amount(turn)


def _amount(turn: Sequence[Work]) -> float:
    """All answers of a turn are as long as the longest."""
    return max(work.amount for work in turn)


def turns(line: Sequence[Work], *, most: int) -> list[list[int]]:
    """Return the places in line that each turn will answer: the first one left, and up to `most` - 1 that fit it."""
    left, found = list(range(len(line))), []
    while left:
        common = line[left[0]].common
        fitting = [place for place in left[1:] if common is not None and line[place].common == common]
        found.append([left[0], *fitting[: most - 1]])
        left = [place for place in left if place not in found[-1]]
    return found


def seconds_before(place: int, line: Sequence[Work], pace: Pace, *, most: int) -> float:
    """Return the seconds until the turn that answers this place in line; nan where no pace is known."""
    planned = turns(line, most=most)
    own = next(number for number, turn in enumerate(planned) if place in turn)
    return sum((pace.of([line[one] for one in turn]) for turn in planned[:own]), 0.0) if own else 0.0
