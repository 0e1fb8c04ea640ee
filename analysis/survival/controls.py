"""What is controlled: simpler explanations of which answers, or tokens, are incorrect.

Each is a fit on answers to other questions.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.detectors.fit import Encode, numbers, together, usual_scores, words
from analysis.survival.labelled import ANSWERS, TOKENS, LabelledUnits, Level

_TENTHS = 10


@dataclass(frozen=True, kw_only=True)
class Control:
    """A simpler explanation of the units of a `level`: its `kind` and `question` in plain words.

    `reads` is what a fit reads, and `lacking` says why there is nothing to read, or "".
    """

    id: str
    level: Level
    name: str
    kind: str
    question: str
    reads: Callable[[LabelledUnits], Encode]
    lacking: Callable[[LabelledUnits], str] = lambda _given: ""


def _no_groups(given: LabelledUnits) -> str:
    return "" if given.num_groups > 1 else "all answers are of one group"


def _no_questions(given: LabelledUnits) -> str:
    return "" if len(set(given.questions)) > 1 else "all answers are to one question"


def _unasked(given: LabelledUnits) -> str:
    return "" if any(given.questions) else "what was asked is not known"


CONTROLS = (
    Control(
        id="answer_words",
        level=ANSWERS,
        name="words of the answer",
        kind="words",
        question="Do the words of the answer alone tell?",
        reads=lambda given: words(given.texts),
    ),
    Control(
        id="question_words",
        level=ANSWERS,
        name="words of the question",
        kind="words",
        question="Does the question alone tell?",
        reads=lambda given: words(given.questions),
        lacking=_no_questions,
    ),
    Control(
        id="length",
        level=ANSWERS,
        name="length of the answer",
        kind="length",
        question="Does the length of the answer alone tell?",
        reads=lambda given: in_tenths(given.lengths.astype(float)),
    ),
    Control(
        id="group",
        level=ANSWERS,
        name="group",
        kind="group",
        question="Does the group of the question alone tell?",
        reads=lambda given: of_names(given.groups),
        lacking=_no_groups,
    ),
    Control(
        id="word",
        level=TOKENS,
        name="the word",
        kind="words",
        question="Does the word that a token is part of tell?",
        reads=lambda given: words(given.texts),
    ),
    Control(
        id="capital",
        level=TOKENS,
        name="capital letter or digit",
        kind="capitals and digits",
        question="Is it enough that its word has a capital letter or a digit?",
        reads=lambda given: numbers(capitals(given.texts)[:, None]),
    ),
    Control(
        id="place",
        level=TOKENS,
        name="position",
        kind="position",
        question="Does the position in the answer alone tell?",
        reads=lambda given: together(in_tenths(given.place.astype(float)), in_tenths(given.place / given.lengths)),
    ),
    Control(
        id="asked",
        level=TOKENS,
        name="word of the question",
        kind="words of the question",
        question="Is it enough whether the question has its word?",
        reads=lambda given: numbers(unasked(given.texts, given.questions)[:, None]),
        lacking=_unasked,
    ),
)
_WORD = re.compile(r"\w+")


def controls_of(given: LabelledUnits) -> list[Control]:
    """The controls of a level, those that have nothing to read among them."""
    return [control for control in CONTROLS if control.level is given.level]


def capitals(texts: Sequence[str]) -> np.ndarray:
    """1 for each text (U,) that begins with a capital letter or a digit, else 0."""
    return np.array([float(text[:1].isupper() or text[:1].isdigit()) for text in texts])


def unasked(texts: Sequence[str], questions: Sequence[str]) -> np.ndarray:
    """1 for each word (U,) that its question lacks, else 0."""
    known = {question: frozenset(_WORD.findall(question.casefold())) for question in set(questions)}
    return np.array([float(text.casefold() not in known[one]) for text, one in zip(texts, questions, strict=True)])


def in_tenths(values: np.ndarray) -> Encode:
    """Numbers (A,), on a log scale and as the tenth of the training answers that they are in: no line is assumed."""
    logs = np.log1p(values)

    def encode(train: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges = np.unique(np.quantile(values[train], np.arange(1, _TENTHS) / _TENTHS))
        places = np.searchsorted(edges, values, side="right")
        tenths = (places[:, None] == np.arange(len(edges) + 1)).astype(float)
        return numbers(np.column_stack([logs, tenths]))(train, rows)

    return encode


def of_names(names: tuple[str, ...]) -> Encode:
    """Which of the names (A,) each answer has."""
    known, place = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
    return numbers((place[:, None] == np.arange(len(known))).astype(float))


def all_of(given: LabelledUnits) -> Encode:
    """All controls side by side."""
    first, *others = (control.reads(given) for control in controls_of(given) if not control.lacking(given))
    for one in others:
        first = together(first, one)
    return first


@dataclass(frozen=True, eq=False)
class Crossed:
    """Uncertainty by controls, from fits that saw neither an answer nor others of its fold.

    `held` (A,): by a fit on all other folds. `inner` (F, A): where fold f is left out too, of the answers of the other
    folds, nan for its own; these are what a fit that is judged on fold f may learn from.
    """

    held: np.ndarray
    inner: np.ndarray

    @property
    def is_whole(self) -> bool:
        """Whether every fold could be left out, and every pair of folds."""
        return not np.isnan(self.held).any() and bool((np.isnan(self.inner).sum(axis=0) == 1).all())


def crossed(encode: Encode, incorrect: np.ndarray, fold: np.ndarray) -> Crossed:
    """Fit without each fold, and without each pair of folds; `fold` (A,) counts from 0."""
    inner = np.full((int(fold.max()) + 1, len(fold)), np.nan)
    for one, other in combinations(range(len(inner)), 2):
        apart = (fold == one) | (fold == other)
        scores = np.full(len(fold), np.nan)
        scores[apart] = _scores(encode, incorrect, apart)
        inner[one, fold == other], inner[other, fold == one] = scores[fold == other], scores[fold == one]
    return Crossed(held_out(encode, incorrect, fold), inner)


def held_out(encode: Encode, incorrect: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Uncertainty (A,) of each answer by a fit on the other folds."""
    found = np.full(len(fold), np.nan)
    for own in range(int(fold.max()) + 1):
        found[fold == own] = _scores(encode, incorrect, fold == own)
    return found


def _scores(encode: Encode, incorrect: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Uncertainty (n,) of the answers that are `apart` (A,), by a fit on the others."""
    return usual_scores(encode, ~incorrect, train=np.flatnonzero(~apart), rows=np.flatnonzero(apart))
