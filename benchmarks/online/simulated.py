"""Simulated alarms: how often their intervals hold the truth, and how often one of two scores is called better."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.evidence.record import Bound
from analysis.online.alarms import Share, alarms, weights_of, with_interval
from analysis.online.curves import Curves, OnlineScore
from benchmarks.support.recording import at_least, at_most, tell

FIRST: OnlineScore = "rauq"
SECOND: OnlineScore = "mean_entropy"
SHORTEST, LONGEST = 4, 16  # tokens
SIMULATIONS, RESAMPLED, RATE = 200, 200, 0.1
COVERED = 0.9
CLAIMED = 0.1  # of 200 simulations, where 5 % are expected
_SHARED, _COMMON = 0.7, 0.7  # standard deviations of what an answer's tokens, and its two scores, have in common


@dataclass(frozen=True, kw_only=True)
class Case:
    """How many answers there are, the share of correct ones, and how much higher either score of incorrect ones is.

    The numbers are in standard deviations of a token's noise.
    """

    size: int
    correct: float
    first: float
    second: float

    def __str__(self) -> str:
        """In words."""
        return f"{self.size} answers, {100 * self.correct:.0f} % correct, effects {self.first:g} and {self.second:g}"


CASES = tuple(
    Case(size=size, correct=correct, first=first, second=second)
    for size, correct in ((300, 0.25), (150, 0.33))
    for first, second in ((0.0, 0.0), (1.0, 1.0), (1.0, 0.5))
)


class Simulated(NamedTuple):
    """Of the intervals of a case: the shares that hold the truth, and of differences that do not hold 0.

    `share` is that of incorrect answers that the first score stops, `difference` that minus that of the second. The
    truth is the mean over all simulations.
    """

    share_covered: float
    difference_covered: float
    claimed: float


def simulated_curves(rng: np.random.Generator, case: Case) -> Curves:
    """Answers to a question each, whose two scores are means of noise so far; those of incorrect ones are higher."""
    correct = (rng.random(case.size) < case.correct).astype(float)
    lengths = rng.integers(SHORTEST, LONGEST + 1, case.size)
    common = _COMMON * rng.standard_normal((case.size, LONGEST))
    effects = {FIRST: case.first, SECOND: case.second}
    return Curves(
        values={
            name: _so_far(rng, common + effect * (correct == 0)[:, None], lengths) for name, effect in effects.items()
        },
        lengths=lengths,
        correct=correct,
        clusters=np.arange(case.size),
        groups=("",) * case.size,
    )


def _so_far(rng: np.random.Generator, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    noise = rng.standard_normal(tokens.shape) + _SHARED * rng.standard_normal((len(tokens), 1))
    places = np.arange(1, LONGEST + 1)
    return np.where(places <= lengths[:, None], np.cumsum(tokens + noise, axis=1) / places, np.nan)


def simulated(
    case: Case, *, by_position: bool, simulations: int = SIMULATIONS, resampled: int = RESAMPLED, seed: int = 2026
) -> Simulated:
    """So many sets of answers, and their alarms at one rate."""
    rngs = (np.random.default_rng((seed, turn)) for turn in range(simulations))
    found = np.array(
        [_once(rng, case, by_position=by_position, resampled=resampled) for rng in rngs]
    )  # (simulations, 2, 3)
    shares, differences = np.moveaxis(found[np.isfinite(found).all(axis=(1, 2))], 1, 0)
    _, low, high = differences.T
    return Simulated(_covered(shares), _covered(differences), float(((low > 0) | (high < 0)).mean()))


def _once(rng: np.random.Generator, case: Case, *, by_position: bool, resampled: int) -> tuple[Share, Share]:
    curves, seed = simulated_curves(rng, case), int(rng.integers(2**31))
    weights = weights_of(curves.clusters, resampled=resampled, seed=seed)
    first, second = (
        alarms(curves, curves.values[name], weights, by_position=by_position, rates=(RATE,), seed=seed)[0].incorrect
        for name in (FIRST, SECOND)
    )
    return with_interval(first), with_interval(first - second)


def _covered(shares: np.ndarray) -> float:
    values, low, high = shares.T
    return float(((low <= values.mean()) & (values.mean() <= high)).mean())


def simulated_bounds() -> tuple[Bound, ...]:
    """Intervals hold the truth, and scores that are equally good are seldom called different."""
    return tuple(_bounds())


def _bounds() -> Iterator[Bound]:
    for case in CASES:
        for by_position, kind in ((False, "one threshold"), (True, "by position")):
            tell(f"simulated: {case}, {kind}")
            found = simulated(case, by_position=by_position)
            said = f"Simulated, {case}, {kind}"
            yield at_least(f"{said}, intervals of shares that hold the truth", found.share_covered, COVERED)
            yield at_least(f"{said}, intervals of differences that hold the truth", found.difference_covered, COVERED)
            if case.first == case.second:
                yield at_most(f"{said}, differences claimed", found.claimed, CLAIMED)
