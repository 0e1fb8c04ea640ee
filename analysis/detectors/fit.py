"""Logistic regression on anything known about an answer, scored on the answers that a fit did not see.

Folds: no answer is scored by a fit that saw it, an answer to its question, or, where asked, one of its group.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from analysis.answer_sets.clusters import folds
from analysis.answer_sets.sides import Sides
from analysis.stats import divided, roc_auc

STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C of scikit-learn, the inverse of the penalty; the fit chooses
_USUAL = 1.0  # scikit-learn's; where the training answers are of one fold, so that nothing can choose, too
LEAST = 5  # training answers of a side: with fewer, nothing is fitted
_INNER = 3  # folds of the training answers, which choose C

Encode = Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]
"""Features of training and of other answers, by their rows, (n, K) each; what is learned comes from training alone."""


def numbers(values: np.ndarray) -> Encode:
    """Numbers (A, K), standardised by the training answers."""

    def encode(train: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, spread = values[train].mean(axis=0), values[train].std(axis=0)
        scale = np.where(spread > 1e-12, spread, 1.0)
        return (values[train] - mean) / scale, (values[rows] - mean) / scale

    return encode


def words(texts: Sequence[str]) -> Encode:
    """TF-IDF of the words of A texts; the vocabulary and its weights are those of the training answers."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    pattern = r"\b\w+\b"  # words of one letter too: symbols of elements
    if not any(re.search(pattern, text) for text in texts):
        return numbers(np.zeros((len(texts), 1)))
    counts = CountVectorizer(token_pattern=pattern).fit_transform(texts)  # once: many fits read the same texts

    def encode(train: np.ndarray, rows: np.ndarray) -> tuple[Any, Any]:
        seen = counts[train]
        if not seen.nnz:
            return np.zeros((len(train), 1)), np.zeros((len(rows), 1))
        known = np.unique(seen.indices)
        weights = TfidfTransformer().fit(seen[:, known])
        return weights.transform(seen[:, known]), weights.transform(counts[rows][:, known])

    return encode


def together(first: Encode, second: Encode) -> Encode:
    """The features of both, side by side."""

    def encode(train: np.ndarray, rows: np.ndarray) -> tuple[Any, Any]:
        from scipy.sparse import csr_array, hstack

        pairs = zip(first(train, rows), second(train, rows), strict=True)
        seen, unseen = (hstack([csr_array(part) for part in pair], format="csr") for pair in pairs)
        return seen, unseen

    return encode


def scores_unseen(encode: Encode, correct: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Uncertainty (A,) of each answer by a fit on the answers of other folds: minus the log-odds of being correct.

    `correct` (A,) is True or False, `fold` (A,) the fold of each answer. nan where the other folds have fewer than
    LEAST answers of a side.
    """
    found = np.full(len(correct), np.nan)
    for own in np.unique(fold):
        train, rows = np.flatnonzero(fold != own), np.flatnonzero(fold == own)
        if can_be_fitted(correct[train]):
            found[rows] = scores_of(encode, correct, train=train, rows=rows, fold=fold)
    return found


def scores_of(
    encode: Encode, correct: np.ndarray, *, train: np.ndarray, rows: np.ndarray, fold: np.ndarray
) -> np.ndarray:
    """Uncertainty (n,) of the answers `rows` by a fit on `train`, whose folds (of `fold`, (A,)) choose the penalty."""
    with one_thread():
        strength = _chosen_strength(encode, correct, train, fold)
        return _fitted(*encode(train, rows), correct[train], strength)


def usual_scores(encode: Encode, correct: np.ndarray, *, train: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Uncertainty (n,) of the answers `rows` by a fit on `train` with scikit-learn's usual penalty.

    nan where `train` has fewer than LEAST answers of a side.
    """
    if not can_be_fitted(correct[train]):
        return np.full(len(rows), np.nan)
    with one_thread():
        return _fitted(*encode(train, rows), correct[train], _USUAL)


def one_thread() -> threadpool_limits:
    """While it is entered, linear algebra has one thread: on small fits several take up to ten times as long."""
    return threadpool_limits(limits=1)


def can_be_fitted(correct: np.ndarray) -> bool:
    """Whether there are LEAST correct and LEAST incorrect answers; `correct` (n,) is True or False."""
    return bool(min(correct.sum(), (~correct).sum()) >= LEAST)


def _chosen_strength(encode: Encode, correct: np.ndarray, train: np.ndarray, fold: np.ndarray) -> float:
    """The C with the best mean ROC-AUC over whole folds of the training answers; of equal ones the first."""
    part = np.unique(fold[train], return_inverse=True)[1] % _INNER
    splits = [(train[part != own], train[part == own]) for own in np.unique(part)]
    usable = [(fitting, judging) for fitting, judging in splits if can_be_fitted(correct[fitting])]
    found = [_areas(encode, correct, fitting, judging) for fitting, judging in usable]
    areas = np.array(found, dtype=float).reshape(-1, len(STRENGTHS)).T
    there = np.isfinite(areas)
    means = divided(np.where(there, areas, 0.0).sum(axis=1), there.sum(axis=1))
    return _USUAL if np.isnan(means).all() else STRENGTHS[int(np.nanargmax(means))]


def _areas(encode: Encode, correct: np.ndarray, fitting: np.ndarray, judging: np.ndarray) -> list[float]:
    """ROC-AUC on the answers `judging` of a fit on `fitting` with each of the STRENGTHS."""
    seen, unseen = encode(fitting, judging)
    return [roc_auc(_fitted(seen, unseen, correct[fitting], strength), correct[judging]) for strength in STRENGTHS]


def _fitted(seen: Any, unseen: Any, correct: np.ndarray, strength: float) -> np.ndarray:  # noqa: ANN401 - may be sparse
    """Uncertainty (n,) of unseen answers, by a fit on the features of others and whether these are correct."""
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=strength, max_iter=1000).fit(seen, correct)
    return np.asarray(-fit.decision_function(unseen))


NUM_FOLDS = 5
MOST_LEFT_OUT = 12  # fits when groups are left out; of more groups, several are left out at once


def question_folds(
    questions: Sequence[str], groups: Sequence[str], sides: Sides, *, count: int = NUM_FOLDS, seed: int = 1
) -> np.ndarray:
    """A fold (A,) for each answer, the same for all answers to one question; groups and sides are spread evenly."""
    _, first, question = np.unique(np.asarray(questions, dtype=object), return_index=True, return_inverse=True)
    own = Sides(sides.correct[first], sides.incorrect[first])
    return folds(np.asarray(groups, dtype=object)[first], own, count=count, seed=seed)[question]


def group_folds(groups: Sequence[str], questions: Sequence[str], *, most: int = MOST_LEFT_OUT) -> np.ndarray:
    """A fold (A,) for each answer that holds whole groups: one group each, or several where there are more than `most`.

    Groups that share a question are in one fold.
    """
    joined = _joined(groups, questions)
    names, group, size = np.unique(joined, return_inverse=True, return_counts=True)
    order = np.argsort(-size, kind="stable")
    found = np.empty(len(names), dtype=np.int64)
    found[order] = np.arange(len(names)) % most
    return found[group]


def _joined(groups: Sequence[str], questions: Sequence[str]) -> np.ndarray:
    """The number of the component (A,) of each answer: answers are linked by their group and by their question."""
    labels = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1]
    question = np.unique(np.asarray(questions, dtype=object).astype(str), return_inverse=True)[1]
    while True:
        lowest = _lowest(_lowest(labels, question), labels)
        if np.array_equal(lowest, labels):
            return labels
        labels = lowest


def _lowest(labels: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The lowest label (A,) among the answers with the same value of `of` (A,)."""
    found = np.full(of.max(initial=-1) + 1, len(labels))
    np.minimum.at(found, of, labels)
    return found[of]
