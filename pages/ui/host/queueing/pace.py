"""How long an answer will wait: the turns before it, at the pace of those that have ended."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

MOST_SECONDS = 120.0  # an answer that would wait longer is refused
LEAST_TOKENS = 8  # of a turn that tells the pace: of fewer, most of the time is something else
_START = 1  # new tokens that take as long as what a turn begins with
_CHARACTERS = 80  # of a prompt, which take about as long as one new token
_SHARED, _EACH = 5 / 6, 1 / 6  # of the time of a token: once for all answers of a turn, and for each of them
_PAGE = 3  # new tokens that take as long as it takes to draw the page of an answer, when it begins and when it ends
SLOWED = 5.0  # times as long a turn takes while the first pages of a crowd are drawn
_OF_LAST = 0.5  # of what is known of the pace comes from the last turn
_OF_SLOWER = 0.2  # of it, where the last turn was slower: what disturbs a turn makes it slower, and is soon over
_MOST_CHANGE = 3.0  # by what factor one turn may differ from the pace before; more is something else


class Work(NamedTuple):
    """What an answer asks of the model: at most so many new `tokens` after a prompt of so many `characters`.

    It is answered together with others that have the same `common`; None: alone.
    """

    common: Hashable | None
    tokens: int = 1
    characters: int = 0


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds of a turn for its `amount`, of one answer and of several; nan before any has ended.

    They are known apart: one answer is alone when a crowd begins to come, whose pages take more of the time then than
    later.
    """

    alone: float = math.nan
    together: float = math.nan

    def after(self, turn: Sequence[Work], seconds: float) -> "Pace":
        """Return the pace after a turn that has ended; the same if it was too short to tell."""
        if max(work.tokens for work in turn) < LEAST_TOKENS:
            return self
        name, took = "alone" if len(turn) == 1 else "together", seconds / amount(turn)
        if not math.isnan(known := getattr(self, name)):
            change = min(max(took / known, 1 / _MOST_CHANGE), _MOST_CHANGE)
            took = known * change ** (_OF_SLOWER if change > 1 else _OF_LAST)
        return replace(self, **{name: took})

    def of(self, turn: Sequence[Work]) -> float:
        """Return the seconds that a turn will take, nan before any has ended."""
        known, other = (self.alone, self.together) if len(turn) == 1 else (self.together, self.alone)
        return (other if math.isnan(known) else known) * amount(turn)


def undisturbed(seconds: float, pages: float) -> float:
    """Return the seconds that a turn would have taken without the seconds in which first pages were drawn."""
    return max(seconds - pages * (1 - 1 / SLOWED), seconds / SLOWED)


def disturbed(seconds: float, pages: float) -> float:
    """Return the seconds that turns will take while so many seconds of first pages are still to be drawn."""
    return min(seconds + pages * (1 - 1 / SLOWED), seconds * SLOWED)


def amount(turn: Sequence[Work], tokens: float | None = None) -> float:
    """How much a turn is, or was once so many tokens were there, in new tokens of one answer.

    All its answers are as long as the longest.
    """
    steps = max((work.tokens if tokens is None else tokens) + work.characters / _CHARACTERS for work in turn)
    return (_START + steps) * (_SHARED + _EACH * len(turn)) + _PAGE * len(turn)


def turns(line: Sequence[Work], *, most: int) -> list[list[int]]:
    """Return the places in line that each turn will answer: the first one left, and up to `most` - 1 that fit it."""
    left, found = list(range(len(line))), []
    while left:
        common = line[left[0]].common
        fitting = [place for place in left[1:] if common is not None and line[place].common == common]
        found.append([left[0], *fitting[: most - 1]])
        left = [place for place in left if place not in found[-1]]
    return found


def seconds_before(place: int, line: Sequence[Work], pace: Pace, *, most: int) -> list[float]:
    """Return the seconds of each turn before the one that answers this place in line; nan where no pace is known."""
    planned = turns(line, most=most)
    own = next(number for number, turn in enumerate(planned) if place in turn)
    return [pace.of([line[one] for one in turn]) for turn in planned[:own]]
