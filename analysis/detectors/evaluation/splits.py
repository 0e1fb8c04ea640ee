"""Splits: which answers a detector is fitted on, and which it scores; no question is ever on both sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.detectors.evaluation.answers import Answers
from analysis.detectors.fit import group_folds, question_folds

Split = Literal["in_domain", "out_of_domain", "family_out"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows of the answers to fit on, and of those to score."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """How the answers are scored under one split: fold by fold.

    `parts` (A,): the column of the table that each answer counts in, a data set or a family. `dropped`: answers left
    out of the training answers, since their question is asked in the scored data set too. `reason`: why there is
    nothing to fit, "" where there is.
    """

    split: Split
    folds: tuple[Fold, ...]
    parts: tuple[str, ...]
    dropped: int = 0
    reason: str = ""

    @property
    def tested(self) -> np.ndarray:
        """The rows that are scored, ascending."""
        return np.sort(np.concatenate([fold.test for fold in self.folds])) if self.folds else np.zeros(0, np.int64)


def plans(given: Answers, *, seed: int = 1) -> dict[Split, Plan]:
    """A plan for each split."""
    return {
        "in_domain": _in_domain(given, seed),
        "out_of_domain": _out_of_domain(given),
        "family_out": _family_out(given),
    }


def _in_domain(given: Answers, seed: int) -> Plan:
    """Five folds by question within each data set (paper, table 18)."""
    folds = tuple(
        Fold(rows[own != fold], rows[own == fold])
        for rows in _rows_of(given.data)
        for own in [_by_question(given, rows, seed)]
        for fold in (np.unique(own) if len(np.unique(own)) > 1 else ())
    )
    parts = given.data if len(given.data_sets) > 1 else given.families
    reason = "" if folds else "all answers are to one question"
    return Plan(split="in_domain", folds=folds, parts=parts, reason=reason)


def _by_question(given: Answers, rows: np.ndarray, seed: int) -> np.ndarray:
    own = given.correct[rows]
    questions, families = (_at(names, rows) for names in (given.questions, given.families))
    return question_folds(questions, families, Sides(own, ~own), seed=seed)


def _out_of_domain(given: Answers) -> Plan:
    """Each data set held out in turn: the fit is on all others (paper, table 19)."""
    if len(given.data_sets) < 2:
        return Plan(
            split="out_of_domain", folds=(), parts=given.data, reason="there is one data set: give runs of several"
        )
    everything = np.arange(len(given.data))
    whole = [Fold(np.setdiff1d(everything, rows), rows) for rows in _rows_of(given.data)]
    folds = tuple(Fold(without_tested(fold, given.questions), fold.test) for fold in whole)
    dropped = sum(len(fold.train) - len(kept.train) for fold, kept in zip(whole, folds, strict=True))
    return Plan(split="out_of_domain", folds=folds, parts=given.data, dropped=dropped)


def _family_out(given: Answers) -> Plan:
    """Each family of a data set held out in turn; families that share a question are held out together."""
    several = len(given.data_sets) > 1
    folds = tuple(
        Fold(rows[own != fold], rows[own == fold])
        for rows in _rows_of(given.data)
        for own in [group_folds(_at(given.families, rows), _at(given.questions, rows))]
        for fold in (np.unique(own) if len(np.unique(own)) > 1 else ())
    )
    parts = tuple(
        f"{data}: {family}" if several else family for data, family in zip(given.data, given.families, strict=True)
    )
    return Plan(
        split="family_out", folds=folds, parts=parts, reason="" if folds else "no data set has several families"
    )


def without_tested(fold: Fold, questions: Sequence[str]) -> np.ndarray:
    """The rows to fit on, without those whose question is asked among the scored answers too."""
    tested = {questions[row] for row in fold.test}
    return np.array([row for row in fold.train if questions[row] not in tested], dtype=np.int64)


def _rows_of(names: Sequence[str]) -> Iterator[np.ndarray]:
    """The rows of each name, in the order of the names."""
    given = np.array(names, dtype=object)
    return (np.flatnonzero(given == name) for name in dict.fromkeys(names))


def _at(values: Sequence[str], rows: np.ndarray) -> list[str]:
    return [values[row] for row in rows]
