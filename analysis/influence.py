"""What each answer adds to the error of a metric, from which its interval follows.

The influence of an answer is the derivative of the metric by the weight of that answer. It is to a metric what a
residual is to a mean: the sum of the squares is the variance (the infinitesimal jackknife; Efron, 1982). Computing it
takes one sort, where a bootstrap takes a thousand.
"""

import math

import numpy as np

from analysis.stats import centred_ranks, precisions


def prr_influence(uncertainty: np.ndarray, quality: np.ndarray, *, max_rejection: float = 0.5) -> np.ndarray:
    """What each of n answers (n,), all of them defined, adds to the error of `analysis.stats.prr`."""
    area, of_area = _area(uncertainty, quality, max_rejection)
    best, of_best = _area(-quality, quality, max_rejection)
    random, of_random = quality.mean(), mean_influence(quality)
    value = (area - random) / (best - random)
    return np.asarray((of_area - of_random - value * (of_best - of_random)) / (best - random))


def _area(key: np.ndarray, quality: np.ndarray, max_rejection: float) -> tuple[float, np.ndarray]:
    """The area under a rejection curve that keeps the lowest keys (n,), and the influence of each answer on it.

    An answer counts by its quality, times the weight of its place, and it moves the places of all behind it.
    """
    order, weights = np.argsort(key, kind="stable"), _place_weights(len(key), max_rejection)
    ranked, (first, last) = quality[order], _ties(key[order])
    sums = np.append(0.0, np.cumsum(weights))
    weight = (sums[last] - sums[first]) / (last - first)  # of a tie the mean
    totals = np.append(0.0, np.cumsum(ranked))
    level = (totals[last] - totals[first]) / (last - first)
    moved = np.append(np.cumsum((np.diff(weights, append=0.0) * level)[::-1])[::-1], 0.0)
    added = weight * ranked + (moved[first] + moved[last]) / 2
    influence = np.empty(len(key))
    influence[order] = added - added.mean()
    return float(weight @ ranked), influence


def _place_weights(size: int, max_rejection: float) -> np.ndarray:
    """Weight (n,) of each place of a ranking in the mean of the means that are kept after each rejection."""
    points = int(max_rejection * size)
    places = np.arange(1, size + 1)
    kept = np.where(places > size - points, 1 / places, 0.0) / points
    return np.asarray(np.cumsum(kept[::-1])[::-1])


def _ties(ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the ties of each of n sorted values begin (n,) and end (n,)."""
    return np.searchsorted(ranked, ranked, side="left"), np.searchsorted(ranked, ranked, side="right")


def mean_influence(values: np.ndarray) -> np.ndarray:
    """What each of n values (n,) adds to the error of their mean."""
    return np.asarray((values - values.mean()) / len(values))


def roc_auc_influence(uncertainty: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """What each of n answers (n,) adds to the error of `analysis.stats.roc_auc` (DeLong, 1988)."""
    side = correct == 1
    ranks = centred_ranks(uncertainty)
    found = np.empty(len(side))
    for own in (side, ~side):
        higher = (ranks[own] - centred_ranks(uncertainty[own])) / (~own).sum()  # pairs above minus pairs below, halved
        sign = 1 if own is not side else -1
        found[own] = sign * (higher - higher.mean()) / own.sum()
    return found


def pearson_influence(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """What each of n answers (n,) adds to the error of `analysis.stats.pearson`."""
    one, other = ((values - values.mean()) / values.std() for values in (first, second))
    return np.asarray((one * other - (one @ other) / len(one) * (one**2 + other**2) / 2) / len(one))


def spearman_influence(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """What each of n answers (n,) adds to the error of `analysis.stats.spearman`: it moves the ranks above it, too."""
    one, other = (centred_ranks(values) / len(values) for values in (first, second))
    moved = one * other + _above(first, other) + _above(second, one)
    squares = [own**2 + 2 * _above(values, own) for values, own in ((first, one), (second, other))]
    scale = [float(own @ own) for own in (one, other)]
    value = float(one @ other) / math.sqrt(scale[0] * scale[1])
    parts = (square / total for square, total in zip(squares, scale, strict=True))
    return _centred(moved / math.sqrt(scale[0] * scale[1]) - value / 2 * sum(parts))


def _above(values: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Mean (n,), over all n answers, of what is `added` by those of a higher value, a tie counting half."""
    order = np.argsort(values)
    first, last = _ties(values[order])
    sums = np.append(0.0, np.cumsum(added[order]))
    found = np.empty(len(order))
    found[order] = sums[-1] - (sums[first] + sums[last]) / 2
    return found / len(order)


def precision_influence(uncertainty: np.ndarray, found: np.ndarray) -> np.ndarray:
    """What each of n items (n,) adds to the error of `analysis.stats.average_precision`."""
    hits, share = found.astype(float), precisions(uncertainty, found)
    order = np.argsort(-uncertainty)
    first, last = _ties(-uncertainty[order])
    value, total = float(share @ hits) / hits.sum(), hits.sum()
    behind = [np.cumsum(own[::-1])[::-1][first] for own in (hits[order] / last, (hits * share)[order] / last)]
    added = np.empty(len(order))
    added[order] = hits[order] * behind[0] - behind[1]
    return _centred((hits * (share - value) + added) / total)


def _centred(values: np.ndarray) -> np.ndarray:
    return np.asarray(values - values.mean())
