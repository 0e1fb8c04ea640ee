"""Folds: no answer is scored by a fit that saw it, an answer to its question, or, where asked, one of its group."""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.answer_sets.word_attention import folds

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
