"""Mean quality of the answers that are kept, as the most uncertain are rejected: the curve behind the PRR, as data.

`uncertainty` (A,) is higher where an answer is less to be trusted, `quality` (A,) is higher where it is better.
"""

from dataclasses import dataclass

import numpy as np

from rauq.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class RejectionCurve:
    """Mean quality of what is kept after each of K rejections, the first of which rejects nothing.

    `rejected` (K,): share of the answers. `kept_quality` (K,): under the uncertainty; `oracle` (K,): when the worst
    answers go first; `random` (K,): expected of a random order. `n` answers count; `excluded` had no uncertainty or
    no quality. Source: paper, appendix on PRR.
    """

    rejected: np.ndarray
    kept_quality: np.ndarray
    oracle: np.ndarray
    random: np.ndarray
    n: int
    excluded: int


def rejection_curve(uncertainty: np.ndarray, quality: np.ndarray, *, max_rejection: float = 1.0) -> RejectionCurve:
    """Reject one answer after the other, up to the share `max_rejection`.

    Answers of equal uncertainty count as averaged over their orders, and random as its expectation, which is the mean
    quality at every share. Pairs are left out as `defined` says.

    Raises:
        InvalidInput: `max_rejection` is no share.
    """
    if not 0 < max_rejection <= 1:
        message = f"The largest share to reject lies above 0 and is at most 1; got {max_rejection:g}."
        raise InvalidInput(message)
    given = len(uncertainty)
    uncertainty, quality = defined(uncertainty, quality)
    n = len(quality)
    points = int(max_rejection * n)
    return RejectionCurve(
        rejected=np.arange(points) / max(n, 1),
        kept_quality=_kept(_tied_quality(uncertainty, quality), points),
        oracle=_kept(np.sort(quality)[::-1], points),
        random=np.full(points, quality.mean() if n else np.nan),
        n=n,
        excluded=given - n,
    )


def defined(uncertainty: np.ndarray, quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that can be ranked and averaged, as floats."""
    uncertainty, quality = np.asarray(uncertainty, dtype=float), np.asarray(quality, dtype=float)
    kept = is_defined(uncertainty, quality)
    return uncertainty[kept], quality[kept]


def is_defined(uncertainty: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """Which pairs (A,) can be ranked and averaged: no nan, and no infinite quality; infinite uncertainty ranks."""
    return ~np.isnan(uncertainty) & np.isfinite(quality)


def _tied_quality(uncertainty: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """Quality (A,) from the most certain answer on; in a tie each place holds the mean of its group."""
    order = np.argsort(uncertainty)
    ranked, sure = quality[order], uncertainty[order]
    starts = np.flatnonzero(np.append(True, sure[1:] != sure[:-1])) if len(sure) else order
    if len(starts) == len(sure):
        return ranked
    sizes = np.diff(np.append(starts, len(sure)))
    return np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)


def _kept(ranked: np.ndarray, points: int) -> np.ndarray:
    """Mean (K,) of what is kept after 0 to `points` - 1 rejections from the end."""
    means = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return means[len(means) - points :][::-1]
