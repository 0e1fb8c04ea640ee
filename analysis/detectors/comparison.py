"""Is it the attention? Detectors fitted on all heads beside the same classifier on words, length or group alone.

The fits, their comparison, what it says in sentences, and its tables for a page and for a file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from analysis.answer_sets.sides import Sides
from analysis.detectors.fit import LEAST, Encode, group_folds, numbers, question_folds, scores_unseen, together, words
from analysis.methods.comparison import (
    JudgedGroups,
    Ranking,
    difference,
    groups_of,
    judged_groups,
    ranking,
)
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, in_words, sign_of
from rauq.labels import number

Split = Literal["questions", "groups"]
"""What no fit has seen of the answer that it scores: its question, or its whole group."""

SPLITS: tuple[Split, ...] = get_args(Split)
SPLIT_NAMES: dict[Split, str] = {"questions": "unseen questions", "groups": "groups left out"}

RAUQ, HEADS, HEADS_RAUQ, WORDS, WORDS_RAUQ, LENGTH, GROUP = (
    *("rauq", "heads", "heads_rauq", "words"),
    *("words_rauq", "length", "group"),
)
NAMES = MappingProxyType(
    {
        RAUQ: "RAUQ alone, not fitted",
        HEADS: "All heads",
        HEADS_RAUQ: "All heads and RAUQ",
        WORDS: "Words of question and answer",
        WORDS_RAUQ: "Words and RAUQ",
        LENGTH: "Number of tokens",
        GROUP: "Group",
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Labelled:
    """A answers, with everything that a detector may use.

    `uncertainty` (A,): RAUQ; `means` (A, K): mean attention of each head; `length` (A,) in tokens. `texts` (A,):
    question and answer; `questions` (A,) alone, near-duplicates as the same text.
    """

    uncertainty: np.ndarray
    means: np.ndarray
    length: np.ndarray
    texts: tuple[str, ...]
    questions: tuple[str, ...]
    groups: tuple[str, ...]
    quality: np.ndarray
    sides: Sides


@dataclass(frozen=True)
class Judgement:
    """PRR over `all` answers and its mean `within` groups; with one group both are the same."""

    all: Estimate
    within: Estimate


@dataclass(frozen=True, eq=False, kw_only=True)
class Detectors:
    """How well each detector ranks answers that its fits have not seen.

    `judged`: by split, by the id of the detector in NAMES. `minus_words`, `minus_rauq`: "heads_rauq" minus that one, by
    split. `num_answers`, `num_heads`, `num_groups` say what was used; `excluded` answers are on no side or lack a
    value. `reasons`: by split, why nothing is defined, "" where it is.
    """

    judged: Mapping[Split, Mapping[str, Judgement]]
    minus_words: Mapping[Split, Judgement]
    minus_rauq: Mapping[Split, Judgement]
    num_answers: int
    num_heads: int
    num_groups: int
    excluded: int
    reasons: Mapping[Split, str]


def detectors(given: Labelled, *, thresholds: Thresholds, seed: int = 1) -> Detectors:
    """Fit every detector, and judge each on answers, and apart on groups, that it has not seen."""
    used = _usable(given)
    folds: dict[Split, np.ndarray] = {
        "questions": question_folds(used.questions, used.groups, used.sides, seed=seed),
        "groups": group_folds(used.groups, used.questions),
    }
    reasons = {split: _why_not(used, split, fold) for split, fold in folds.items()}
    among = judged_groups(
        groups_of(used.groups, clusters=np.unique(used.questions, return_inverse=True)[1]),
        used.quality,
        metric="prr",
        thresholds=thresholds,
    )
    scored = {split: _scored(used, among, fold) for split, fold in folds.items() if not reasons[split]}
    return Detectors(
        judged={split: {name: _of(one.rankings, among) for name, one in own.items()} for split, own in scored.items()},
        minus_words={split: _minus(own, WORDS, among) for split, own in scored.items()},
        minus_rauq={split: _minus(own, RAUQ, among) for split, own in scored.items()},
        num_answers=len(used.quality),
        num_heads=used.means.shape[1],
        num_groups=len(set(used.groups)),
        excluded=len(given.quality) - len(used.quality),
        reasons=reasons,
    )


def _usable(given: Labelled) -> Labelled:
    """The answers that are on a side and have both attention and a score."""
    kept = (given.sides.correct | given.sides.incorrect) & np.isfinite(given.means).all(axis=1)
    rows = np.flatnonzero(kept & np.isfinite(given.uncertainty))
    fields: dict[str, Any] = {
        name: getattr(given, name)[rows] for name in ("uncertainty", "means", "length", "quality")
    }
    fields |= {name: tuple(getattr(given, name)[row] for row in rows) for name in ("texts", "questions", "groups")}
    return Labelled(**fields, sides=Sides(given.sides.correct[rows], given.sides.incorrect[rows]))


def _why_not(used: Labelled, split: Split, fold: np.ndarray) -> str:
    if not len(fold):
        return "no answer has a verdict, attention and a score"
    if len(np.unique(fold)) < 2:
        return {"questions": "all answers are to one question", "groups": "there is only one group to leave out"}[split]
    smaller = [min(np.bincount(used.sides.correct[fold != own], minlength=2)) for own in np.unique(fold)]
    if min(smaller) < LEAST:
        return f"a fit would have fewer than {LEAST} correct or incorrect answers"
    return ""


@dataclass(frozen=True, eq=False)
class _Scored:
    """The uncertainty (A,) by one detector, and its ranking in each part."""

    uncertainty: np.ndarray
    rankings: Sequence[Ranking]


def _scored(used: Labelled, among: JudgedGroups, fold: np.ndarray) -> dict[str, _Scored]:
    values = {RAUQ: used.uncertainty} | {
        name: scores_unseen(encode, used.sides.correct, fold) for name, encode in _features(used).items()
    }
    return {name: _Scored(own, [ranking(own[part.rows], part) for part in among.parts]) for name, own in values.items()}


def _features(used: Labelled) -> dict[str, Encode]:
    rauq, text = numbers(used.uncertainty[:, None]), words(used.texts)
    of_group = np.unique(np.array(used.groups, dtype=object).astype(str), return_inverse=True)[1]
    return {
        HEADS: numbers(used.means),
        HEADS_RAUQ: numbers(np.column_stack([used.means, used.uncertainty])),
        WORDS: text,
        WORDS_RAUQ: together(text, rauq),
        LENGTH: numbers(used.length[:, None]),
        GROUP: numbers(np.eye(of_group.max() + 1)[of_group]),
    }


def _of(rankings: Sequence[Ranking], among: JudgedGroups) -> Judgement:
    """All answers, and the mean within groups, which for one group is the same."""
    reported = among.reported(rankings)
    return Judgement(reported[0].estimate, reported[1 if among.own else 0].estimate)


def _minus(own: Mapping[str, _Scored], other: str, among: JudgedGroups) -> Judgement:
    base, rest = own[HEADS_RAUQ], own[other]
    found = [
        difference(
            (base.uncertainty[part.rows], base.rankings[at]), (rest.uncertainty[part.rows], rest.rankings[at]), part
        )
        for at, part in enumerate(among.parts)
    ]
    return _of(found, among)


class _Against(NamedTuple):
    """What all heads and RAUQ are compared with on a split: its id, its name, and the verdicts in its favour."""

    other: str
    name: str
    equal: str
    worse: str


_AGAINST: dict[Split, _Against] = {
    "questions": _Against(WORDS, "the words alone", "Words alone do as well", "Words alone rank better"),
    "groups": _Against(RAUQ, "RAUQ alone", "RAUQ alone does as well", "RAUQ alone ranks better"),
}


def detectors_sentence(found: Detectors) -> str:
    """Whether heads rank answers better than words to unseen questions, and better than RAUQ in groups left out."""
    return " ".join(_compared(found, split, against) for split, against in _AGAINST.items())


def _compared(found: Detectors, split: Split, against: _Against) -> str:
    where = SPLIT_NAMES[split].capitalize()
    minus = {WORDS: found.minus_words, RAUQ: found.minus_rauq}[against.other]
    if reason := found.reasons[split] or _main(minus[split], found).reason:
        return f"{where}: undefined, {reason}."
    change = _main(minus[split], found)
    own, rest = (_two(_main(found.judged[split][one], found)) for one in (HEADS_RAUQ, against.other))
    within = " within groups" if found.num_groups > 1 else ""
    return (
        f"{where}: PRR{within} {own} with all heads and RAUQ, {rest} with {against.name}. {_verdict(change, against)} "
        f"({_signed(change)})."
    )


def _verdict(change: Estimate, against: _Against) -> str:
    if change.no_interval:
        return "Which ranks better cannot be said"
    if not sign_of(change):
        return against.equal if change.value <= 0 else "No significant difference"
    return "Heads rank better" if change.value > 0 else against.worse


def _main(judged: Judgement, found: Detectors) -> Estimate:
    return judged.within if found.num_groups > 1 else judged.all


def detectors_caption(found: Detectors) -> str:
    """What is fitted, and how to read it."""
    within = " within groups" if found.num_groups > 1 else ""
    apart = "; on the right, without its whole group" if found.num_groups > 1 else ""
    return (
        "Logistic regression on the mean previous-token attention of all heads, or on words, length or group instead. "
        f"Each answer is scored by fits without it and its question{apart}. PRR{within}, 95 % intervals by question."
    )


def table_caption(found: Detectors) -> str:
    """How many answers are used, and which of the numbers can be compared."""
    left = f" {found.excluded:,} without verdict, attention or score are left out." if found.excluded else ""
    return (
        f"{found.num_answers:,} answers, {found.num_heads:,} heads.{left} All answers: PRR over all groups together. "
        "When groups are left out, compare within groups: scores of different fits share no scale. Intervals leave out "
        "the variation between fits."
    )


def _signed(estimate: Estimate) -> str:
    return in_words(estimate) if estimate.value <= 0 else f"+{in_words(estimate)}"


def _two(estimate: Estimate) -> str:
    return number(estimate.value, places=2)


def detectors_cells(found: Detectors) -> pd.DataFrame:
    """A row for each detector; PRR over all answers and within groups, on unseen questions and on groups left out."""
    columns = {
        f"{SPLIT_NAMES[split].capitalize()}, {title}": [_cell(found, split, name, over) for name in NAMES]
        for split in SPLITS
        for over, title in _over(found).items()
    }
    return pd.DataFrame({"Detector": list(NAMES.values()), **columns})


def _over(found: Detectors) -> dict[str, str]:
    return {"all": "all answers", "within": "within groups"} if found.num_groups > 1 else {"all": "all answers"}


def _cell(found: Detectors, split: Split, name: str, over: str) -> str:
    if found.reasons[split]:
        return "–"
    one: Estimate = getattr(found.judged[split][name], over)
    return "–" if one.reason else in_words(one)


def detectors_table(found: Detectors) -> pd.DataFrame:
    """A row for each detector, split and set of answers: PRR with its interval, in full."""
    return pd.DataFrame(
        [
            {
                "detector": NAMES[name],
                "scored": SPLIT_NAMES[split],
                "over": title,
                "prr": one.value,
                "low": one.low,
                "high": one.high,
                "answers": one.n,
                **one.missing,
            }
            for split, judged in found.judged.items()
            for name, own in judged.items()
            for over, title in _over(found).items()
            for one in [getattr(own, over)]
        ]
    )
