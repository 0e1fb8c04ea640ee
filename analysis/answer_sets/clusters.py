"""Questions are the unit: answers to one question, a cluster, stay together wherever answers are shuffled or split."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.stats import student

FOLDS = 10
LEAST_FOR_INTERVAL = 10  # questions with an answer of a side: with fewer, a comparison of sides has no interval


def clusters_or_own(clusters: np.ndarray | None, count: int) -> np.ndarray:
    """The cluster (A,) of each of `count` answers, from 0 on in the order of their labels; None: each is its own."""
    return np.arange(count) if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)


def exchangeable(group: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, ...]:
    """The clusters with equally many answers in each group: rows (M, S) of M such clusters of S answers.

    By chance, they could have had each other's labels. `group` and `cluster` (n,) are numbers.
    """
    order = np.lexsort((group, cluster))
    members = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    alike = defaultdict(list)
    for rows in members:
        alike[tuple(group[rows].tolist())].append(rows)
    return tuple(np.array(alike[key]) for key in sorted(alike))


def shuffled(
    labels: np.ndarray, group: np.ndarray, cluster: np.ndarray, *, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Random labellings (count, n): all labels (n,) of a cluster go to another one that is exchangeable with it.

    Each group keeps as many of each label. A cluster that is exchangeable with no other keeps its labels.
    """
    found = np.tile(labels, (count, 1))
    for rows in exchangeable(group, cluster):
        places = rng.permuted(np.tile(np.arange(len(rows)), (count, 1)), axis=1)
        found[:, rows] = labels[rows][places]
    return found


def folds(
    groups: Sequence[str] | np.ndarray,
    sides: Sides,
    *,
    clusters: np.ndarray | None = None,
    count: int = FOLDS,
    seed: int = 0,
) -> np.ndarray:
    """A fold (A,) for each answer, the same for all of a cluster, and as many of each group and side as can be in each.

    Leaving out single answers would give two answers of the same words different expectations, against their labels.
    """
    _, group = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    cluster = clusters_or_own(clusters, len(group))
    first = np.unique(cluster, return_index=True)[1]
    correct, incorrect, size = (
        np.bincount(cluster, own, minlength=len(first)) for own in (sides.correct, sides.incorrect, np.ones(len(group)))
    )
    shuffled_places = np.random.default_rng(seed).permutation(len(first))
    order = np.lexsort((shuffled_places, size, correct, incorrect, group[first]))
    found = np.empty(len(first), dtype=np.int64)
    found[order] = np.arange(len(first)) % count
    return found[cluster]


def num_clusters(cluster: np.ndarray, sides: Sides, there: np.ndarray) -> np.ndarray:
    """How many clusters have a correct answer, or how many an incorrect one, whichever is less, in each column (K,).

    `cluster` (n,) are numbers; `there` (n, K): which answers count in a column.
    """
    counts = [[len(np.unique(cluster[side & own])) for own in there.T] for side in (sides.correct, sides.incorrect)]
    return np.min(counts, axis=0)


def error_by_cluster(parts: np.ndarray, cluster: np.ndarray, num: np.ndarray) -> np.ndarray:
    """Half of the width of 95 % intervals (K,), from what each answer adds to an error: `parts` (n, K), 0 on average.

    What the answers of a cluster (n,) add is summed before it is squared. `num` (K,), as `num_clusters`: one less are
    the degrees of freedom of Student's quantile; with fewer than LEAST_FOR_INTERVAL there is no interval.
    """
    sums = np.array([np.bincount(cluster, column) for column in parts.T]).reshape(len(num), -1)
    enough = np.maximum(num, LEAST_FOR_INTERVAL)
    return np.where(num < LEAST_FOR_INTERVAL, np.nan, student(enough - 1) * np.sqrt((sums**2).sum(axis=1)))
