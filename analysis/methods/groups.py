"""The answers of a run by group, as every comparison of methods looks at them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.groups import shown_groups

ALL = "all"


@dataclass(frozen=True, eq=False)
class Group:
    """A group of answers: its name, and its rows (n,) of the run's table. "all" holds every answer."""

    name: str
    rows: np.ndarray


def groups_of(names: Sequence[str]) -> tuple[Group, ...]:
    """All answers first, then each group of several that are shown; `names` (A,) is the group of each answer."""
    given = np.asarray(names)
    own = tuple(Group(name, np.flatnonzero(given == name)) for name in shown_groups(given))
    return (Group(ALL, np.arange(len(given))), *own)
