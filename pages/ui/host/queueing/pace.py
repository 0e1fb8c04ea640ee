"""How long an answer will wait: the turns before it, at the pace of those that have ended."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

MOST_SECONDS = 120.0  # an answer that would wait longer is refused
LEAST_TOKENS = 8  # of a turn that tells the pace: of fewer, most of the time is something else
_START = 8  # new tokens that take as long as what a turn begins and ends with
_CHARACTERS = 80  # of a prompt, which take about as long as one new token
_TOGETHER = 3.5  # times as long as one answer, for two to eight that are answered together
_MOST_CHANGE = 3.0  # by what factor one turn may differ from the pace before; more is something else


class Work(NamedTuple):
    """What an answer asks of the model: at most so many new `tokens` after a prompt of so many `characters`.

    It is answered together with others that have the same `common`; None: alone.
    """

    common: Hashable | None
    tokens: int = 1
    characters: int = 0

    def amount(self, tokens: float) -> float:
        """How much it is once so many tokens of it are there, in new tokens."""
        return _START + tokens + self.characters / _CHARACTERS


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds of a turn for each new token, of one answer and of several; nan before any has ended.

    Half of what is known comes from the last turn, since the machine may be busier now, or less.
    """

    alone: float = math.nan
    together: float = math.nan

    def after(self, turn: Sequence[Work], seconds: float) -> "Pace":
        """Return the pace after a turn that has ended; the same if it was too short to tell."""
        if max(work.tokens for work in turn) < LEAST_TOKENS:
            return self
        name, took = "alone" if len(turn) == 1 else "together", seconds / amount(turn)
        if not math.isnan(known := getattr(self, name)):
            took = math.sqrt(known * min(max(took, known / _MOST_CHANGE), known * _MOST_CHANGE))
        return replace(self, **{name: took})

    def of(self, turn: Sequence[Work]) -> float:
        """Return the seconds that a turn will take, nan before any has ended."""
        alone = self.together / _TOGETHER if math.isnan(self.alone) else self.alone
        together = self.alone * _TOGETHER if math.isnan(self.together) else self.together
        return (alone if len(turn) == 1 else together) * amount(turn)


def amount(turn: Sequence[Work], tokens: float | None = None) -> float:
    """How much a turn is, or was once so many tokens were there: all its answers are as long as the longest."""
    return max(work.amount(work.tokens if tokens is None else tokens) for work in turn)


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
