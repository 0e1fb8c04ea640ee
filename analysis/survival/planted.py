"""A test of the test: signals that are made to add something, leaks that do not, and random signals.

A user sees them beside their own signal: planted signals have to survive, planted leaks must not, and random signals
only by chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.stats import Estimate, sign_of
from analysis.survival.beyond import added_by
from analysis.survival.controls import controls_of
from analysis.survival.ladder import Prepared

RANDOM = 200
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
    def most(self) -> int:
        """How many random signals may survive: twice as many as lie above a two-sided interval of 95 %."""
        return self.random // 20

    @property
    def holds(self) -> bool:
        """Whether planted signals survive and planted leaks do not, and no more random signals than may."""
        return self.surviving <= self.most and all(one.survives == one.has_to_survive for one in self.planted)


def self_test(prepared: Prepared, *, random: int = RANDOM) -> SelfTest:
    """Judge planted and random signals on these answers, with their labels and controls."""
    rng = np.random.default_rng(prepared.seed)
    drawn = rng.normal(size=(random, len(prepared.fold)))
    names, survive, planted = zip(*_signals(prepared, rng), strict=True)
    added = added_by(np.vstack([*planted, drawn]), prepared.given, prepared.together, prepared.fold)
    return SelfTest(
        planted=tuple(
            Planted(name=name, has_to_survive=survives, estimate=estimate)
            for name, survives, estimate in zip(names, survive, added[: len(names)], strict=True)
        ),
        random=random,
        surviving=sum(sign_of(estimate) > 0 for estimate in added[len(names) :]),
    )


def _signals(prepared: Prepared, rng: np.random.Generator) -> Iterator[tuple[str, bool, np.ndarray]]:
    incorrect = prepared.given.incorrect
    for strength in _STRENGTHS:
        values = strength * incorrect + rng.normal(size=len(incorrect))
        yield f"planted signal, {strength:g} standard deviations", True, values
    for control in controls_of(prepared.given):
        if control.id in prepared.scores:
            scores = prepared.scores[control.id]
            noise = _NOISE * scores.std() * rng.normal(size=len(scores))
            yield f"planted leak, {control.name}", False, scores + noise
