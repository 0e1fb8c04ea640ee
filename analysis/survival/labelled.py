"""Labelled answers or tokens, and a signal that claims to find the incorrect ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from analysis.answer_sets.clusters import shuffled
from analysis.answer_sets.sides import Sides
from rauq.errors import InvalidInput


class Level(NamedTuple):
    """What is judged: its name in the singular and in the plural, and how many of them are fitted at most."""

    one: str
    name: str
    most: int


ANSWERS, TOKENS = Level("answer", "answers", 2_000), Level("token", "tokens", 10_000)
LevelName = Literal["answers", "tokens"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledUnits:
    """U answers or tokens with a verdict: what was asked and said, and which are incorrect (U,).

    `answer` (U,): the number of the answer that each is of, and `place` (U,) where in it, from 0; an answer is its own,
    at 0. `clusters` (U,): the question of each, near-duplicates as one. `lengths` (U,): of the answer, in
    `measured_in`, "tokens" or "words". `texts`: of an answer, or the word that a token is part of. `references` and
    `sources`: texts that the answers were judged by, and documents that they are about, "" where there is none.
    `unjudged` ones are left out, as they have no verdict.
    """

    level: Level = ANSWERS
    name: str
    incorrect: np.ndarray
    groups: tuple[str, ...]
    clusters: np.ndarray
    answer: np.ndarray
    place: np.ndarray
    lengths: np.ndarray
    measured_in: str
    questions: tuple[str, ...]
    texts: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...]
    unjudged: int = 0

    @cached_property
    def sides(self) -> Sides:
        """The sides (U,)."""
        return Sides(~self.incorrect, self.incorrect)

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(set(self.groups))

    @property
    def is_of_tokens(self) -> bool:
        """Whether the tokens of an answer are compared with each other, and not whole answers."""
        return self.level is TOKENS

    def among(self, kept: np.ndarray) -> "LabelledUnits":
        """Those that are `kept` (U,)."""
        return self.take(np.flatnonzero(kept))

    def take(self, rows: np.ndarray) -> "LabelledUnits":
        """Those of these rows, in their order; a row may be taken more than once."""
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in _ARRAYS}
        texts: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in rows.tolist()) for name in _TEXTS}
        return replace(self, **arrays, **texts)


_ARRAYS = ("incorrect", "clusters", "answer", "place", "lengths")
_TEXTS = ("groups", "questions", "texts", "references", "sources")


@dataclass(frozen=True, eq=False, kw_only=True)
class Signal:
    """A number of each unit (U,), higher where it is expected to be incorrect; nan where there is none.

    `replaced` (S, U): the same with another attention in place of the answer's own, by what stands in for it; empty
    where no attention is known to be in the signal.
    """

    name: str
    values: np.ndarray
    replaced: Mapping[str, np.ndarray]

    def among(self, kept: np.ndarray) -> "Signal":
        """The signal of those that are `kept`, which may be a mask or rows."""
        return Signal(
            name=self.name,
            values=self.values[kept],
            replaced={name: values[:, kept] for name, values in self.replaced.items()},
        )


def by_chance(values: np.ndarray, given: LabelledUnits, *, count: int, seed: int) -> np.ndarray:
    """Values (U,) as they would be by chance, `count` times: (count, U).

    Those of answers are shuffled among answers of a group. Those of the tokens of an answer are turned in a circle by a
    random number of tokens, since neighbours are alike.
    """
    rng = np.random.default_rng(seed)
    if given.is_of_tokens:
        return _turned(values, given.answer, count=count, rng=rng)
    group = np.unique(np.array(given.groups, dtype=object).astype(str), return_inverse=True)[1].reshape(-1)
    return shuffled(values, group, given.clusters, count=count, rng=rng)


def _turned(values: np.ndarray, answer: np.ndarray, *, count: int, rng: np.random.Generator) -> np.ndarray:
    found = np.empty((count, len(values)), dtype=values.dtype)
    for own in np.unique(answer):
        rows = np.flatnonzero(answer == own)
        steps = rng.integers(len(rows), size=(count, 1))
        found[:, rows] = values[rows[(np.arange(len(rows)) + steps) % len(rows)]]
    return found


def drawn(given: LabelledUnits, most: int, *, seed: int) -> np.ndarray:
    """Which units (U,) are used of more than `most`: those of questions drawn by the seed; of fewer, all."""
    if len(given.clusters) <= most:
        return np.ones(len(given.clusters), dtype=bool)
    sizes = np.bincount(given.clusters)
    order = np.random.default_rng(seed).permutation(len(sizes))
    used = order[np.cumsum(sizes[order]) <= most]
    return np.isin(given.clusters, used)


def checked(found: LabelledUnits) -> LabelledUnits:
    """The same.

    Raises:
        InvalidInput: there is none.
    """
    if not len(found.incorrect):
        message = f"{found.name} has no {found.level.one} with a verdict. Judge its answers first."
        raise InvalidInput(message)
    return found
