"""Alarms: an answer is stopped at the first token after which a score is above a threshold.

The threshold is learned on the correct answers to half of the questions: it is the lowest one at which a further
correct answer is stopped with at most a given probability (split conformal prediction). It is applied to the other
half, both ways round, and all shares are means over several random halves. An alarm at the last token stops nothing,
and is not counted.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from analysis.online.curves import Curves
from analysis.stats import divided

RATES = (0.05, 0.1, 0.2)
"""Shares of correct answers that may be stopped."""

SPLITS, RESAMPLED = 10, 500
_ROWS = 50  # of weights at a time
_LEAST_STOPPED = 2  # correct answers of half of the questions
_LEAST = 10  # correct answers at a position: with fewer, they are those at the last position that has as many
_FLAT = 1e-12  # of a variance: all values at a position are equal


@dataclass(frozen=True, eq=False, kw_only=True)
class Alarms:
    """Alarms at one rate: shares of the answers as they are, then of those to resampled questions, B times (1 + B,).

    `correct` and `incorrect`: the share of these answers that is stopped. `saved`: the share of the tokens of incorrect
    answers that is not written. nan where the correct answers are too few for the rate.
    """

    rate: float
    correct: np.ndarray
    incorrect: np.ndarray
    saved: np.ndarray


class Share(NamedTuple):
    """A share or a difference of two, and the ends of its 95 % interval; nan where it is undefined."""

    value: float
    low: float
    high: float


def with_interval(values: np.ndarray) -> Share:
    """What `values` (1 + B,) say: the first is that of the answers as they are, the others are resampled."""
    low, high = np.quantile(values[1:], (0.025, 0.975))
    return Share(float(values[0]), float(low), float(high))


def weights_of(clusters: np.ndarray, *, resampled: int = RESAMPLED, seed: int = 0) -> np.ndarray:
    """How often each answer counts (1 + B, A): once, then as often as its question is drawn."""
    questions, place = np.unique(clusters, return_inverse=True)
    chances = np.full(len(questions), 1 / len(questions))
    draws = np.random.default_rng(seed).multinomial(len(questions), chances, size=resampled)
    return np.vstack([np.ones(len(place)), draws[:, place]])


def halves(clusters: np.ndarray, *, splits: int = SPLITS, seed: int = 0) -> Iterator[np.ndarray]:
    """Which answers (A,) are to one half of the questions: two halves of each split, one after the other."""
    rng, questions = np.random.default_rng(seed), np.unique(clusters)
    for _ in range(splits):
        half = np.isin(clusters, rng.permutation(questions)[: len(questions) // 2])
        yield from (half, ~half)


def alarms(
    curves: Curves,
    values: np.ndarray,
    weights: np.ndarray,
    *,
    by_position: bool = False,
    rates: Sequence[float] = RATES,
    splits: int = SPLITS,
    seed: int = 0,
) -> tuple[Alarms, ...]:
    """Alarms by a score of `values` (A, T) at each rate, for answers that count as often as `weights` (1 + B, A) say.

    `by_position`: a threshold at each position, equally far from the mean of correct answers there, in their standard
    deviations. Else there is one for all.
    """
    before_end = np.arange(values.shape[1]) < curves.lengths[:, None] - 1
    values = np.where(before_end, values, -math.inf)
    rows = _ROWS if by_position else len(weights)
    chunks = [weights[start : start + rows] for start in range(0, len(weights), rows)]
    learned = list(halves(curves.clusters, splits=splits, seed=seed))
    how = partial(_by_position if by_position else _by_one, curves, values, rates=rates)
    counted = [sum(how(chunk, half) for half in learned) for chunk in chunks]
    shares = _shares(np.concatenate(counted, axis=-1) / len(learned), curves, weights, rates)
    return tuple(
        Alarms(rate=rate, correct=correct, incorrect=incorrect, saved=saved)
        for rate, (correct, incorrect, saved) in zip(rates, shares, strict=True)
    )


def _shares(stopped: np.ndarray, curves: Curves, weights: np.ndarray, rates: Sequence[float]) -> np.ndarray:
    """What is stopped (R, 3, 1 + B) on average of half of the questions, as shares of what that half has."""
    is_correct, is_incorrect = curves.correct == 1, curves.correct == 0
    halved = weights @ np.stack([is_correct, is_incorrect, is_incorrect * curves.lengths], axis=1) / 2
    shares = divided(stopped, halved.T)
    shares[[_allowed(is_correct.sum() / 2, rate) < _LEAST_STOPPED for rate in rates]] = math.nan
    return shares


def thresholds(peaks: np.ndarray, weights: np.ndarray, rates: Sequence[float]) -> np.ndarray:
    """The lowest thresholds (R, b) that at most these shares of further correct answers exceed.

    `peaks` (b, n), or (1, n) for all of them, are the highest values of correct answers, which count as often as
    `weights` (b, n) say. Infinite where they are too few for the rate.
    """
    if not peaks.shape[1]:
        return np.full((len(rates), len(weights)), math.inf)
    order = np.argsort(-peaks, axis=-1)
    ordered = weights[:, order[0]] if len(order) == 1 else np.take_along_axis(weights, order, axis=-1)
    reached = np.cumsum(ordered, axis=-1)
    ranked = np.broadcast_to(np.take_along_axis(peaks, order, axis=-1), reached.shape)
    return np.stack([_lowest(ranked, reached, _allowed(reached[:, -1], rate)) for rate in rates])


def _lowest(ranked: np.ndarray, reached: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The value (b,) of `ranked` (b, n) at which as many are `reached` as are allowed (b,)."""
    place = (reached < allowed[:, None]).sum(axis=-1, keepdims=True)
    return np.where(allowed >= 1, np.take_along_axis(ranked, place, axis=-1)[:, 0], math.inf)


def least_correct(rate: float) -> int:
    """How many correct answers a run needs at least, so that half of them allow two to be stopped."""
    return math.ceil(2 * (_LEAST_STOPPED / rate - 1))


def _allowed(count: np.ndarray, rate: float) -> np.ndarray:
    """How many of so many correct answers may be stopped, so that a further one is with at most the rate's chance."""
    return np.floor((count + 1) * rate)


def _by_one(
    curves: Curves, values: np.ndarray, weights: np.ndarray, learned: np.ndarray, *, rates: Sequence[float]
) -> np.ndarray:
    """By one threshold of a half, of the other half: correct and incorrect answers stopped, tokens saved (R, 3, b)."""
    right, tested = _sides(curves, learned)
    peaks = values[right].max(axis=-1)[None]
    limits = thresholds(peaks, weights[:, right], rates)
    different, place = np.unique(limits, return_inverse=True)
    highest = np.maximum.accumulate(values[tested], axis=-1)
    places = [np.searchsorted(answer, different, side="right") for answer in highest]
    tokens = np.reshape(places, (len(highest), len(different)))
    counts = np.stack([weights[:, tested] @ part for part in _stops(curves, tested, tokens)])  # (3, b, different)
    return np.moveaxis(counts[:, np.arange(len(weights)), place.reshape(limits.shape)], 0, 1)


def _by_position(
    curves: Curves, values: np.ndarray, weights: np.ndarray, learned: np.ndarray, *, rates: Sequence[float]
) -> np.ndarray:
    """The same by a threshold at each position."""
    right, tested = _sides(curves, learned)
    own, others = _levels(values[right], values[tested], weights[:, right])
    peaks, highest = own.max(axis=-1), np.maximum.accumulate(others, axis=-1)
    limits = thresholds(peaks, weights[:, right], rates)
    tokens = [(highest <= limit[:, None, None]).sum(axis=-1).T for limit in limits]  # (a, b) each
    stops = [_stops(curves, tested, each) for each in tokens]
    return np.array([[np.einsum("ba,ab->b", weights[:, tested], part) for part in parts] for parts in stops])


def _sides(curves: Curves, learned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which answers a threshold is learned on, and which it is applied to (A,)."""
    return learned & (curves.correct == 1), ~learned & np.isfinite(curves.correct)


def _stops(curves: Curves, tested: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, ...]:
    """Which correct and which incorrect answers are stopped after so many tokens, and how many tokens are saved (a, b).

    `tokens` (a, b) are those from the first on at which the score has not been above a threshold.
    """
    lengths, is_correct = curves.lengths[tested][:, None], (curves.correct[tested] == 1)[:, None]
    is_stopped = tokens < lengths
    saved = np.where(is_stopped & ~is_correct, lengths - tokens - 1, 0)
    return (is_stopped & is_correct).astype(float), (is_stopped & ~is_correct).astype(float), saved.astype(float)


def _levels(own: np.ndarray, others: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far values are above the mean of the `own` ones (n, T) at their position, in deviations: (b, n or a, T).

    The values are minus infinity where an answer has ended. `weights` (b, n) say how often the own ones count; each is
    compared with the others of them, as the value of a new answer is.
    """
    counted = np.isfinite(own)
    enough = np.flatnonzero(counted.sum(axis=0) >= _LEAST)
    place = np.minimum(np.arange(own.shape[1]), enough.max(initial=0))
    known = np.where(counted, own, 0.0)
    powers = np.stack([counted, known, known**2])[..., place]  # (3, n, T)
    sums = (weights @ powers)[:, :, None]  # (3, b, 1, T)
    return _distance(own, sums - weights[..., None] * powers[:, None]), _distance(others, sums)


def _distance(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """How far values are above a mean, in deviations, from a number of values, their sum and that of their squares."""
    number, total, squares = sums
    number = np.maximum(number, 1)
    mean = total / number
    return (values - mean) / np.sqrt(np.maximum(squares / number - mean**2, _FLAT))
