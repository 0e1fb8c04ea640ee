"""The opposite test: signals that are known to add something, leaks that do not, and random ones.

A user sees them beside the own signal: what is planted has to be found, and chance has to fail.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.stats import Estimate, sign_of
from analysis.survival.beyond import beyond
from analysis.survival.controls import CONTROLS
from analysis.survival.ladder import Prepared

RANDOM = 200
MOST_SURVIVING = RANDOM // 20
"""Surviving is one end of an interval of 95 %: of 200 random signals 5 are expected to, and at most 10 allowed."""
_STRENGTHS = (1.0, 2.0)  # standard deviations between incorrect and correct answers
_NOISE = 0.3  # standard deviations of a control's score that are added to it


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A signal that was made here, whether it has to survive, and what it adds to the controls."""

    name: str
    has_to_survive: bool
    estimate: Estimate

    @property
    def survives(self) -> bool:
        """Whether it adds to the controls, beyond noise and enough for a claim."""
        return sign_of(self.estimate) > 0


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """The planted signals and leaks, and how many of the random signals survive."""

    planted: tuple[Planted, ...]
    random: int
    surviving: int

    @property
    def holds(self) -> bool:
        """Whether all that was planted is found or caught, and no more random signals survive than chance lets."""
        return self.surviving <= self.random / 20 and all(one.survives == one.has_to_survive for one in self.planted)


def self_test(prepared: Prepared, *, random: int = RANDOM) -> SelfTest:
    """Judge planted and random signals on these answers, with their labels and controls."""
    rng = np.random.default_rng(prepared.seed)
    drawn = rng.normal(size=(random, len(prepared.fold)))
    return SelfTest(
        planted=tuple(
            Planted(name=name, has_to_survive=survives, estimate=_added(values, prepared))
            for name, survives, values in _signals(prepared, rng)
        ),
        random=random,
        surviving=sum(sign_of(_added(values, prepared)) > 0 for values in drawn),
    )


def _added(values: np.ndarray, prepared: Prepared) -> Estimate:
    found = beyond(values, prepared.given, prepared.together, prepared.fold, permutations=0, seed=prepared.seed)
    return found.estimate


def _signals(prepared: Prepared, rng: np.random.Generator) -> Iterator[tuple[str, bool, np.ndarray]]:
    incorrect = prepared.given.incorrect
    for strength in _STRENGTHS:
        values = strength * incorrect + rng.normal(size=len(incorrect))
        yield f"planted signal, {strength:g} standard deviations", True, values
    for control in CONTROLS:
        if control.id in prepared.scores:
            scores = prepared.scores[control.id]
            noise = _NOISE * scores.std() * rng.normal(size=len(scores))
            yield f"planted leak, {control.name}", False, scores + noise
