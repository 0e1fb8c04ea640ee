"""Which groups of a run have results of their own: not hundreds, as where every answer is a group to itself."""

from collections import Counter
from collections.abc import Iterable

MOST_GROUPS = 20


def shown_groups(groups: Iterable[str]) -> list[str]:
    """The names of the largest groups, given the group of each answer; in their order, none where all are of one."""
    sizes = Counter(groups)
    return sorted(name for name, _ in sizes.most_common(MOST_GROUPS)) if len(sizes) > 1 else []


def groups_note(groups: Iterable[str]) -> str:
    """A sentence about groups that are not shown; "" where all are."""
    count = len(set(groups))
    return f"Of {count:,} groups the {MOST_GROUPS} largest are shown." if count > MOST_GROUPS else ""
