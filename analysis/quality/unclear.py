"""What unclear answers could change: a figure with all of them taken as correct, and with all taken as incorrect.

Answers that a rule cannot decide are not missing at random, so no interval of a figure covers what they could change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

Figure = TypeVar("Figure")
Part = TypeVar("Part")


@dataclass(frozen=True)
class UnclearBounds(Generic[Figure]):
    """A figure of a set of answers with all `count` unclear ones taken as correct, and with all taken as incorrect."""

    count: int
    correct: Figure
    incorrect: Figure

    def of(self, part: Callable[[Figure], Part]) -> "UnclearBounds[Part]":
        """The same for a part of the figure."""
        return UnclearBounds(self.count, part(self.correct), part(self.incorrect))


def unclear_bounds(
    figure: Callable[[np.ndarray], Figure], quality: np.ndarray, unclear: np.ndarray
) -> UnclearBounds[Figure] | None:
    """Compute a figure of the quality (A,) of answers with 1, and with 0, where they are `unclear` (A,).

    None where no answer is unclear. A figure may lie beyond both where some are correct and others incorrect.
    """
    flags = np.asarray(unclear, dtype=bool)
    if not flags.any():
        return None
    correct, incorrect = (figure(np.where(flags, value, quality)) for value in (1.0, 0.0))
    return UnclearBounds(int(flags.sum()), correct, incorrect)


def about_unclear(count: int) -> str:
    """How many answers are left out of figures until somebody reads them; "" where none is."""
    if not count:
        return ""
    return "1 unclear answer is not counted." if count == 1 else f"{count:,} unclear answers are not counted."


def bounds_sentence(name: str, found: UnclearBounds[str] | None) -> str:
    """Both values, in words, of the figure of that name; "" without bounds."""
    if found is None:
        return ""
    which = "the unclear answer" if found.count == 1 else f"all {found.count:,} unclear answers"
    return f"{name} with {which} taken as correct: {found.correct}; taken as incorrect: {found.incorrect}."
