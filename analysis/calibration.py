"""What a score is worth: the share of correct answers at each uncertainty, as a smooth curve with its 95 % interval.

A share is an observation on this set, not a probability elsewhere.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from analysis.stats import check_correct, defined, student
from rauq.labels import number

LEAST = 12  # questions with a correct answer, and with an incorrect one: with fewer the interval covers too rarely
_MANY = 300  # questions of each side: from so many on, a curve with more knots is as certain, and fits more shapes
_FEW_KNOTS = np.array([-1.645, -0.385, 0.385, 1.645])  # as normal scores: the 5th, 35th, 65th and 95th percentile
_MORE_KNOTS = np.array([-1.96, -1.2, -0.6, 0.0, 0.6, 1.2, 1.96])
_RIDGE = 0.003  # keeps the curve finite where a score separates correct from incorrect answers
_STEP = 3.0  # of the logit in one step of Newton's method
_STEPS = 60
_EVEN = 0.005  # a share of correct answers so near to one half is one half, in words
_MOST = 700.0  # exp of more overflows


@dataclass(frozen=True, eq=False)
class Calibration:
    """Share of correct answers (S,) at each score (S,) that occurs, ascending, and its pointwise 95 % interval (S,).

    Empty where it is undefined, and then `reason` says why. `n` answers count, of which the share `base` is correct
    (nan if there are none); `excluded` had no score or no quality.
    """

    scores: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    base: float
    excluded: int
    reason: str = ""


def calibrate(uncertainty: np.ndarray, correct: np.ndarray, *, clusters: np.ndarray | None = None) -> Calibration:
    """Fit the share of correct answers by a logistic regression on a natural spline of the score's rank.

    `uncertainty` (A,); `correct` (A,): 1 or 0, nan where it is unknown; `clusters` (A,): equal for answers to one
    question, each its own if None. The interval holds for shares that change smoothly with the rank: at a step, or at
    a narrow peak, it does not (benchmarks/coverage/shares.py).

    Raises:
        InvalidInput: another number in `correct`.
    """
    given = len(uncertainty)
    kept = np.isfinite(np.asarray(correct, dtype=float)) & ~np.isnan(np.asarray(uncertainty, dtype=float))
    cluster = np.unique((np.arange(given) if clusters is None else clusters)[kept], return_inverse=True)[1]
    uncertainty, correct = defined(uncertainty, correct)
    check_correct(correct)
    n, base = len(correct), float(correct.mean()) if len(correct) else math.nan
    if reason := _why_not(correct, cluster):
        empty = np.empty(0)
        return Calibration(empty, empty, empty, empty, n, base, given - n, reason)
    scores, places, counts = np.unique(uncertainty, return_inverse=True, return_counts=True)
    questions = min(_questions(correct, cluster))
    points = _spline(_normal_scores(counts), _MORE_KNOTS if questions >= _MANY else _FEW_KNOTS)
    logit, error = _logistic(points, places, correct, cluster)
    half = error * student(np.array(questions))
    share, low, high = (_expit(value) for value in (logit, logit - half, logit + half))
    return Calibration(scores, share, low, high, n, base, given - n)


class Share(NamedTuple):
    """A share of correct answers, from 0 to 1, with its 95 % interval; nan where it is undefined."""

    value: float
    low: float
    high: float


def share_at(calibration: Calibration, score: float) -> Share:
    """Return the share of correct answers at a score.

    Between two scores of the set it is that of the lower one, beyond them that of the last; nan for a score that is
    nan, and where the calibration is undefined.
    """
    if math.isnan(score) or not len(calibration.scores):
        return Share(math.nan, math.nan, math.nan)
    place = max(int(np.searchsorted(calibration.scores, score, side="right")) - 1, 0)
    return Share(*(float(line[place]) for line in (calibration.share, calibration.low, calibration.high)))


def share_in_words(calibration: Calibration, score: float, *, written: bool = False) -> str:
    """How many answers near a score are correct, beside how many of all are.

    `written`: of answers that were written in pairs, a right and a wrong one, which is said in words.
    """
    near, how = share_halves(calibration, score, written=written)
    return f"{near}, {how[:1].lower()}{how[1:]}" if how else near


def share_halves(calibration: Calibration, score: float, *, written: bool = False) -> tuple[str, str]:
    """The two halves of `share_in_words`: the share with its interval, for a line, and how it was found."""
    if not calibration.n:
        return "", ""
    base, count = f"{_percent(calibration.base)} %", f"{calibration.n:,}"
    if calibration.reason:
        return f"{base} of all {count} are correct; the share near this score is unknown: {calibration.reason}.", ""
    share, low, high = map(_percent, share_at(calibration, score))
    beyond = not calibration.scores[0] <= score <= calibration.scores[-1]
    where = "At the nearest score of the reference" if beyond else "Near this score"
    if written and math.isclose(calibration.base, 0.5, abs_tol=_EVEN):
        near = f"{where[0].lower()}{where[1:]}, {share} % are right (95 % interval {low} to {high})"
        return f"Where as many written answers are right as wrong: {near}", f"By a curve fitted to all {count}."
    return (
        f"{where}, {share} % are correct (95 % interval {low} to {high})",
        f"By a curve fitted to all {count}, of which {base} are correct.",
    )


def _percent(share: float) -> str:
    return number(100 * share, places=0)


def _why_not(correct: np.ndarray, cluster: np.ndarray) -> str:
    questions, name = min(zip(_questions(correct, cluster), ("correct", "incorrect"), strict=True))
    if questions >= LEAST:
        return ""
    few = {0: "no question has", 1: "only 1 question has"}.get(questions, f"only {questions} questions have")
    return f"{few} {name} answers, and at least {LEAST} are needed"


def _questions(correct: np.ndarray, cluster: np.ndarray) -> tuple[int, int]:
    """How many questions have a correct answer, and how many an incorrect one."""
    return len(np.unique(cluster[correct == 1])), len(np.unique(cluster[correct == 0]))


def _normal_scores(counts: np.ndarray) -> np.ndarray:
    """The normal quantile of the mean rank (S,) of each score, which occurs so often (S,)."""
    ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.array(list(map(NormalDist().inv_cdf, ranks.tolist())))


def _spline(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """The basis (S, K) of a natural cubic spline with K knots: linear beyond the outer ones."""
    *inner, last = (np.maximum(values - knot, 0) ** 3 for knot in knots)
    bends = [(cubic - last) / (knots[-1] - knot) for cubic, knot in zip(inner, knots[:-1], strict=True)]
    return np.stack([np.ones_like(values), values, *((bend - bends[-1]) / 4 for bend in bends[:-1])], axis=1)


def _logistic(
    points: np.ndarray, places: np.ndarray, correct: np.ndarray, cluster: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The logit (S,) at each of the points (S, P), and its standard error (S,)."""
    design = points[places]
    weights, inverse = _fit(design, correct)
    left = design * (correct - _expit(design @ weights))[:, None]
    sums = np.stack([np.bincount(cluster, column) for column in left.T], axis=1)  # (G, P): a question counts once
    (groups, size), n = sums.shape, len(design)
    between = sums.T @ sums * (groups / (groups - 1) * (n - 1) / (n - size))
    # Where nearly all answers are of one side, residuals are too small to tell the variance between questions: there
    # the variance is that of the model, scaled by how much more the answers vary than the model says.
    inflation = max(1.0, float(np.trace(inverse @ between)) / size)
    variances = [
        np.einsum("sp,pq,sq->s", points, matrix, points)
        for matrix in (inverse @ between @ inverse, inflation * inverse)
    ]
    return points @ weights, np.sqrt(np.maximum(*variances))


def _fit(design: np.ndarray, correct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (P,) of a logistic regression with a small ridge, and the inverse of its information (P, P)."""
    ridge = _RIDGE * np.diag([0.0, *np.ones(design.shape[1] - 1)])
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        share = _expit(design @ weights)
        inverse = np.linalg.inv((design * (share * (1 - share))[:, None]).T @ design + ridge)
        step = inverse @ (design.T @ (correct - share) - ridge @ weights)
        largest = float(np.abs(design @ step).max())
        weights = weights + step * min(1.0, _STEP / max(largest, _RIDGE))
        if largest < 1e-8:
            break
    return weights, inverse


def _expit(logit: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logit, -_MOST, _MOST)))
