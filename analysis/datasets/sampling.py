"""Fewer examples than there are, chosen by a seed, so that a smaller choice is part of a larger one."""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from analysis.datasets.example import Example
from rauq.errors import InvalidInput

Item = TypeVar("Item")


def spread(examples: Sequence[Example], count: int | None, *, seed: int) -> tuple[Example, ...]:
    """`count` examples in their order, every stratum of every group in proportion; all where that is None."""
    _check(count)
    strata = defaultdict(list)
    for place, example in enumerate(examples):
        strata[example.group, example.stratum].append(place)
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, no secret
    ranked = []
    for places in strata.values():
        draw.shuffle(places)
        ranked += [((rank + draw.random()) / len(places), place) for rank, place in enumerate(places)]
    return tuple(examples[place] for place in sorted(place for _, place in sorted(ranked)[:count]))


def sample(items: Sequence[Item], count: int | None, *, seed: int) -> list[Item]:
    """`count` items in their order, each as likely as any other; all where that is None."""
    _check(count)
    places = list(range(len(items)))
    random.Random(seed).shuffle(places)  # noqa: S311
    return [items[place] for place in sorted(places[:count])]


def _check(count: int | None) -> None:
    if count is not None and count < 1:
        message = f"Got a limit of {count}; it has to be at least 1."
        raise InvalidInput(message)
