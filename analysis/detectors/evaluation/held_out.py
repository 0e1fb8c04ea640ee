"""Scores of answers by detectors that were fitted on answers to other questions; others are refused.

Splits say which answers a detector is fitted on, and which it scores; no question is ever on both sides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.detectors.evaluation.answers import Answers, Features, Fitted, SupervisedMethod
from analysis.detectors.fit import (
    LEAST,
    can_be_fitted,
    group_folds,
    numbers,
    question_folds,
    scores_of,
    together,
    words,
)
from rauq.errors import InvalidInput, RauqError
from rauq.labels import shortened

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


ONE_SPLIT = frozenset({"factoscope"})  # a fit takes minutes: only the first split is scored
_NOT_SCORED = "only the first split is scored, since a fit takes minutes"
_TOO_FEW = f"a fit would have fewer than {LEAST} correct or incorrect answers"


FAILURES = (RauqError, ValueError, ArithmeticError)
"""What a search, a fit or a score may raise on odd answers: it is the reason why a method is undefined there."""


class SeenInTraining(InvalidInput):
    """A detector was asked to score an answer to a question that it was fitted on."""


@dataclass(frozen=True, eq=False)
class Scores:
    """An uncertainty (A,), higher for a more uncertain answer; nan where undefined, and then the reason; else ""."""

    values: np.ndarray
    reasons: np.ndarray

    @property
    def reason(self) -> str:
        """Why no answer has one; "" where any has."""
        return "" if np.isfinite(self.values).any() else next(filter(None, self.reasons), "there is no answer")


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted method, and the questions of the answers that it was fitted on."""

    method: Fitted
    questions: frozenset[str]

    def scores(self, features: Sequence[np.ndarray | None], reasons: Sequence[str], questions: Sequence[str]) -> Scores:
        """The uncertainty of each answer (n,); of one without features, the given reason.

        Raises:
            SeenInTraining: one of the questions is among those of the training answers.
        """
        refuse_seen(self.questions, questions)
        found = [self._score(own, reason) for own, reason in zip(features, reasons, strict=True)]
        return _scores([value for value, _ in found], [reason for _, reason in found])

    def _score(self, features: np.ndarray | None, reason: str) -> tuple[float, str]:
        if features is None:
            return np.nan, reason
        try:
            value = float(self.method.value(features))
        except FAILURES as error:
            return np.nan, str(error)
        return (value, "") if np.isfinite(value) else (np.nan, "the detector gave no finite number")


def refuse_seen(seen: Iterable[str], questions: Iterable[str]) -> None:
    """Refuse to score answers to questions that a fit has seen.

    Raises:
        SeenInTraining: there is such a question.
    """
    if both := sorted(set(seen) & set(questions)):
        message = (
            f"The detector was fitted on an answer to the question {shortened(both[0])!r}, and cannot be judged by "
            "another one. Score answers to other questions, or fit without these."
        )
        raise SeenInTraining(message)


def searched(
    method: SupervisedMethod, features: Features, given: Answers, plan: Plan, *, seed: int, full: bool
) -> object:
    """Settings chosen on the training answers of the first fold, for all folds; None without a search.

    Fits on all folds share these settings; no fit sees an answer that it scores. A first fold with too few answers of
    a side is passed over.
    """
    if method.search is None:
        return None
    for fold in plan.folds:
        rows = _with_features(features, fold.train)
        if can_be_fitted(given.correct[rows]):
            quality = np.clip(given.quality[rows], 0, 1)
            return method.search(_of(features, rows), quality, threshold=given.threshold, seed=seed, full=full)
    return None


def train(
    method: SupervisedMethod,
    features: Features,
    given: Answers,
    rows: np.ndarray,
    *,
    settings: object,
    seed: int,
    shuffled: bool = False,
) -> Trained:
    """Fit a method on the answers `rows`; with `shuffled`, these have each other's qualities, in a seeded order.

    Raises:
        InvalidInput: no answer has features, there are too few of a side, or the method cannot be fitted on them.
    """
    kept = _with_features(features, rows)
    if len(rows) and not len(kept):
        raise InvalidInput(features.reasons[rows[0]])
    quality = np.clip(given.quality[kept], 0, 1)
    if not can_be_fitted(given.correct[kept]):
        raise InvalidInput(_TOO_FEW)
    if shuffled:
        quality = np.random.default_rng(seed).permutation(quality)
    fitted = method.fit(_of(features, kept), quality, threshold=given.threshold, settings=settings, seed=seed)
    return Trained(fitted, frozenset(given.questions[row] for row in kept))


def detector_scores(
    method: SupervisedMethod,
    features: Features,
    given: Answers,
    plan: Plan,
    *,
    settings: object,
    seed: int,
    shuffled: bool = False,
) -> Scores:
    """Score each tested answer by the fit of its fold; an undefined fold says why."""

    def score(fold: Fold) -> Scores:
        if method.id in ONE_SPLIT and fold is not plan.folds[0]:
            return _undefined(fold, _NOT_SCORED)
        try:
            trained = train(method, features, given, fold.train, settings=settings, seed=seed, shuffled=shuffled)
        except FAILURES as error:
            return _undefined(fold, str(error))
        reasons, questions = ([own[row] for row in fold.test] for own in (features.reasons, given.questions))
        return trained.scores([features.values[row] for row in fold.test], reasons, questions)

    return _fold_by_fold(plan, len(given.quality), score)


def text_scores(given: Answers, plan: Plan, *, seed: int) -> Scores:
    """The same by logistic regression on the text alone: TF-IDF of question and answer, and their lengths.

    Source: arXiv 2605.17028, where most detectors fall to chance once text leaks are controlled.
    """
    encode = together(words(given.texts), numbers(np.log1p(given.lengths)))
    sides = Sides(given.correct, ~given.correct)
    inner = question_folds(given.questions, given.families, sides, seed=seed)

    def score(fold: Fold) -> Scores:
        refuse_seen((given.questions[row] for row in fold.train), (given.questions[row] for row in fold.test))
        if not can_be_fitted(given.correct[fold.train]):
            return _undefined(fold, _TOO_FEW)
        values = scores_of(encode, given.correct, train=fold.train, rows=fold.test, fold=inner)
        return _scores(values, [""] * len(values))

    return _fold_by_fold(plan, len(given.quality), score)


def _fold_by_fold(plan: Plan, count: int, score: Callable[[Fold], Scores]) -> Scores:
    found = _scores(np.full(count, np.nan), ["the answer is in no scored fold"] * count)
    for fold in plan.folds:
        own = score(fold)
        found.values[fold.test], found.reasons[fold.test] = own.values, own.reasons
    return found


def _undefined(fold: Fold, reason: str) -> Scores:
    return _scores(np.full(len(fold.test), np.nan), [reason] * len(fold.test))


def _scores(values: Sequence[float] | np.ndarray, reasons: Sequence[str]) -> Scores:
    return Scores(np.array(values, dtype=float), np.array(reasons, dtype=object))


def _with_features(features: Features, rows: np.ndarray) -> np.ndarray:
    return np.array([row for row in rows if features.values[row] is not None], dtype=np.int64)


def _of(features: Features, rows: np.ndarray) -> list[np.ndarray]:
    return [own for row in rows if (own := features.values[row]) is not None]
