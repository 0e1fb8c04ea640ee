"""Which answers count as correct and which as incorrect, and which groups of a run have results of their own."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis.quality.judgement import Thresholds
from rauq.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Sides:
    """Two masks (A,) over the same answers: where both are False, quality is undefined or between the thresholds."""

    correct: np.ndarray
    incorrect: np.ndarray


def sides(quality: np.ndarray, thresholds: Thresholds) -> Sides:
    """The sides of A answers by their quality (A,), nan being on neither (paper, figure 3).

    Raises:
        InvalidInput: thresholds that would put an answer on both sides.
    """
    if thresholds.incorrect > thresholds.correct:
        message = (
            f"Answers above {thresholds.correct:g} would be correct and below {thresholds.incorrect:g} incorrect: some "
            "would be both. Set the threshold for incorrect answers at or below that for correct ones."
        )
        raise InvalidInput(message)
    quality = np.asarray(quality, dtype=float)
    return Sides(correct=quality > thresholds.correct, incorrect=quality < thresholds.incorrect)


MOST_GROUPS = 20


def shown_groups(groups: Iterable[str]) -> list[str]:
    """The names of the largest groups, given the group of each answer; in their order, none where all are of one."""
    sizes = Counter(groups)
    return sorted(name for name, _ in sizes.most_common(MOST_GROUPS)) if len(sizes) > 1 else []


def groups_note(groups: Iterable[str]) -> str:
    """A sentence about groups that are not shown; "" where all are."""
    count = len(set(groups))
    return f"Only the {MOST_GROUPS} largest of {count:,} groups are shown." if count > MOST_GROUPS else ""
