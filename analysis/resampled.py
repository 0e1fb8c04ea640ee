"""PRR and ROC-AUC on many bootstrap resamples at once, as if each were drawn and ranked by itself.

A resample is how often it draws each answer: `counts` (A, R) has a column for each of R. `uncertainty` (A,) is higher
where an answer is less to be trusted, `quality` (A,) is higher where it is better. A pair with a nan in it is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analysis.metrics import check_correct, divided
from analysis.rejection import is_defined

_BLOCK = 100


class Bounds(NamedTuple):
    """Areas (R,) under the rejection curves of a random order and of the oracle; equal where a PRR is undefined."""

    random: np.ndarray
    oracle: np.ndarray


class _Ranked(NamedTuple):
    """T values of a ranking key, the lowest first: how many answers (T, R) of each are drawn, and their sum (T, R)."""

    drawn: np.ndarray
    total: np.ndarray


def counts_of(drawn: np.ndarray) -> np.ndarray:
    """How often each answer is drawn (A, R), from resamples as indices (R, A)."""
    count, size = drawn.shape
    places = drawn * count + np.arange(count)[:, None]
    return np.bincount(places.ravel(), minlength=size * count).reshape(size, count).astype(np.int32)


def resampled_prr(
    uncertainty: np.ndarray,
    quality: np.ndarray,
    counts: np.ndarray,
    *,
    max_rejection: float = 0.5,
    bounds: Bounds | None = None,
) -> np.ndarray:
    """`analysis.metrics.prr` of each resample (R,), nan where that is undefined.

    `bounds` of all these answers save half of the time where no uncertainty is nan. An area under a rejection curve is
    a sum over the places of a ranking: the quality there, times a weight that the place alone decides. Answers of equal
    uncertainty share the weights of their places.
    """
    kept = is_defined(uncertainty, quality)
    if bounds is None or not kept.all():
        bounds = bounds_of(quality[kept], counts[kept], max_rejection=max_rejection)
    area = _in_blocks(_areas, uncertainty[kept], quality[kept], counts[kept], share=max_rejection)
    return divided(area - bounds.random, bounds.oracle - bounds.random)


def bounds_of(quality: np.ndarray, counts: np.ndarray, *, max_rejection: float = 0.5) -> Bounds:
    """The areas that a PRR lies between, of answers that all have a quality (A,)."""
    return Bounds(*_in_blocks(_bounds, quality, counts, share=max_rejection))


def resampled_roc_auc(uncertainty: np.ndarray, correct: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`analysis.metrics.roc_auc` of each resample (R,), nan where all its answers are right or all are wrong.

    Raises:
        InvalidInput: a number other than 1 or 0 in `correct`.
    """
    kept = is_defined(uncertainty, correct)
    check_correct(correct[kept])
    return _in_blocks(_roc_auc, uncertainty[kept], correct[kept], counts[kept])


def _in_blocks(metric: Callable[..., np.ndarray], *values: np.ndarray, **options: float) -> np.ndarray:
    """The metric of each resample; a few at a time, since what fits the processor's cache is much faster."""
    *of_answers, counts = values
    blocks = [counts[:, at : at + _BLOCK] for at in range(0, counts.shape[1], _BLOCK)]
    return np.concatenate([metric(*of_answers, block, **options) for block in blocks], axis=-1)


def _bounds(quality: np.ndarray, counts: np.ndarray, *, share: float) -> np.ndarray:
    best = _ranked(-quality, quality, counts)
    sizes = counts.sum(axis=0)
    random = divided(best.total.sum(axis=0), sizes)
    is_undefined = (sizes * share < 2) | _is_constant(best)
    return np.stack([random, np.where(is_undefined, random, _area(best, *_place_weights(sizes, share)))])


def _areas(uncertainty: np.ndarray, quality: np.ndarray, counts: np.ndarray, *, share: float) -> np.ndarray:
    return _area(_ranked(uncertainty, quality, counts), *_place_weights(counts.sum(axis=0), share))


def _roc_auc(uncertainty: np.ndarray, correct: np.ndarray, counts: np.ndarray) -> np.ndarray:
    drawn, right = _ranked(uncertainty, correct, counts)
    wrong = drawn - right
    surer = np.cumsum(right, axis=0) - right / 2  # of a tie one half
    return divided((wrong * surer).sum(axis=0), right.sum(axis=0) * wrong.sum(axis=0))


def _ranked(key: np.ndarray, values: np.ndarray, counts: np.ndarray) -> _Ranked:
    order = np.argsort(key)
    key, drawn = key[order], counts[order]
    total = drawn * values[order][:, None]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else order
    if len(starts) < len(key):
        drawn, total = (np.add.reduceat(cells, starts, axis=0) for cells in (drawn, total))
    return _Ranked(drawn, total)


def _area(ranked: _Ranked, weights: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Mean quality (R,) of what is kept, over all shares that are rejected."""
    ends = np.cumsum(ranked.drawn, axis=0)
    reached = weights.ravel().take(ends + row * weights.shape[1])
    return (ranked.total / np.maximum(ranked.drawn, 1) * np.diff(reached, axis=0, prepend=0.0)).sum(axis=0)


def _place_weights(sizes: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the first 0, 1, 2, ... places of a ranking, a row for each of the different `sizes` (R,); whose row.

    A resample holds as many answers as are drawn of those that count, so sizes may differ.
    """
    different, row = np.unique(sizes, return_inverse=True)
    places = np.arange(1, sizes.max(initial=0) + 1)
    points = (share * different).astype(int)[:, None]
    kept = (places > different[:, None] - points) & (places <= different[:, None])  # how many are, after rejecting
    parts = np.where(kept, 1 / places, 0.0) / np.maximum(points, 1)
    of_place = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]  # a place counts wherever it is kept
    return np.cumsum(np.pad(of_place, ((0, 0), (1, 0))), axis=1), row


def _is_constant(ranked: _Ranked) -> np.ndarray:
    """Whether all that is drawn (R,) has one value, as `analysis.metrics.is_constant` has it; ranked by that value."""
    if not len(ranked.drawn):
        return np.ones(ranked.drawn.shape[1], dtype=bool)
    there = ranked.drawn > 0
    ends = np.stack([there.argmax(axis=0), len(there) - 1 - there[::-1].argmax(axis=0)])
    values = np.take_along_axis(ranked.total / np.maximum(ranked.drawn, 1), ends, axis=0)
    return np.ptp(values, axis=0) <= 1e-6 * np.abs(values).max(axis=0)
