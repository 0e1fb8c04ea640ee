"""Every measure of how good an answer is: what it needs, its source, its judge, and which fits a typed answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from analysis.datasets.example import Example, default_quality
from analysis.quality.judgement import Judgement, Thresholds, fact_spans, undefined
from analysis.quality.matching import accuracy, exact_match, judge_contains, load_rouge_l, token_f1
from rauq.errors import InvalidInput

Need = Literal["references", "source", "quality", "group", "weights"]
_THRESHOLDS = Thresholds()
_LONGEST_REASON = 500  # characters
Judge = Callable[[Sequence[Example], Sequence[str]], list[Judgement]]


@dataclass(frozen=True)
class Measure:
    """A measure of quality, higher is better.

    `needs`: what an example has to have, and whether it takes `weights`, the folder that `rauq convert`
    makes. `source`: where it comes from. `judge`: loads what it takes, once, and returns the judge of many answers.
    """

    id: str
    name: str
    needs: tuple[Need, ...]
    source: str
    judge: Callable[[Path | None], Judge]
    thresholds: Thresholds = _THRESHOLDS


def measure(measure_id: str) -> Measure:
    """Return the measure of this id.

    Raises:
        InvalidInput: there is none.
    """
    if measure_id == OWN.id:
        return OWN
    if measure_id not in MEASURES:
        message = f"Unknown measure of quality {measure_id!r}; choose {', '.join(MEASURES)}."
        raise InvalidInput(message)
    return MEASURES[measure_id]


def load_judge(
    measure_id: str, *, weights: Path | None = None, function: Callable[[Example, str], float] | None = None
) -> Judge:
    """Load a measure once, to judge many answers; what has no quality is nan with the reason.

    Spaces and line ends around an answer do not matter. Facts are characters of the answer as it is given. `function`:
    the user's own, where that is the measure; what it raises is the reason of nan.

    Raises:
        InvalidInput: there is no such measure, its package is missing, or `function` is.
        ModelNotFound: it is a model, and `weights` is not its folder.
    """
    chosen = measure(measure_id)
    judge = _by_function(function) if chosen is OWN and function else chosen.judge(weights)

    def judge_all(examples: Sequence[Example], answers: Sequence[str]) -> list[Judgement]:
        pairs = list(zip(examples, answers, strict=True))
        lacking = [_lacking(chosen, example) for example, _ in pairs]
        whole = [pair for pair, reason in zip(pairs, lacking, strict=True) if not reason]
        judged = iter(judge([example for example, _ in whole], [answer for _, answer in whole]))
        judgements = [undefined(reason) if reason else next(judged) for reason in lacking]
        return [_with_facts(judgement, *pair) for judgement, pair in zip(judgements, pairs, strict=True)]

    return judge_all


def _lacking(chosen: Measure, example: Example) -> str:
    if "references" in chosen.needs and not _references(example):
        return f"{chosen.name} needs a reference, but the example has none"
    if "source" in chosen.needs and not example.source.strip():
        return f"{chosen.name} needs the source, but the example has none"
    if "quality" in chosen.needs and (example.quality is None or not math.isfinite(example.quality)):
        return "the data set gives this answer no quality"
    if "group" in chosen.needs and not example.group:
        return f"{chosen.name} needs the family of the fact as a group, but the example has none"
    return ""


def _references(example: Example) -> list[str]:
    return [reference.strip() for reference in example.references if reference.strip()]


def _with_facts(judgement: Judgement, example: Example, answer: str) -> Judgement:
    return judgement if judgement.facts else replace(judgement, facts=fact_spans(answer, example.facts))


def _none(_weights: Path | None) -> Judge:
    return lambda examples, _answers: [undefined("no measure of quality is selected")] * len(examples)


def _given(_weights: Path | None) -> Judge:
    return lambda examples, _answers: [Judgement(example.quality or 0.0) for example in examples]


def _exact_truth(_weights: Path | None) -> Judge:
    from analysis.quality.judgement import load_truth

    truth = load_truth()
    return lambda examples, answers: [truth(*pair) for pair in zip(examples, answers, strict=True)]


def _facts(_weights: Path | None) -> Judge:
    from analysis.quality.facts import judge_fact

    return lambda examples, answers: [judge_fact(*pair) for pair in zip(examples, answers, strict=True)]


def _contains(_weights: Path | None) -> Judge:
    return lambda examples, answers: [judge_contains(*pair) for pair in zip(examples, answers, strict=True)]


def _best_of(score: Callable[[str, str], float]) -> Judge:
    """The best reference counts."""

    def judge(examples: Sequence[Example], answers: Sequence[str]) -> list[Judgement]:
        return [
            _best([score(answer, reference) for reference in _references(example)])
            for example, answer in zip(examples, answers, strict=True)
        ]

    return judge


def _best(scores: Sequence[float]) -> Judgement:
    known = [score for score in scores if math.isfinite(score)]
    return Judgement(max(known)) if known else undefined("the measure gives no number for this answer and reference")


def _function_missing(_weights: Path | None) -> Judge:
    message = (
        "The quality of this run is a Python function of yours. Give it: analysis.score_run(..., quality=my_quality)."
    )
    raise InvalidInput(message)


def _by_function(function: Callable[[Example, str], float]) -> Judge:
    return lambda examples, answers: [_own(function, *pair) for pair in zip(examples, answers, strict=True)]


def _own(function: Callable[[Example, str], float], example: Example, answer: str) -> Judgement:
    try:
        found = function(example, answer)
    except Exception as error:  # noqa: BLE001 - an answer that it cannot judge stops no other
        return undefined(f"the function of quality failed ({type(error).__name__}: {error})"[:_LONGEST_REASON])
    value = np.asarray(found)
    if value.shape or value.dtype.kind not in "biuf" or not np.isfinite(value):
        return undefined(f"the function of quality gave {str(found)[:40]!r}; a finite number is needed")
    return Judgement(float(value))


def _rouge_l(_weights: Path | None) -> Judge:
    return _best_of(load_rouge_l())


def _alignscore(weights: Path | None) -> Judge:
    from analysis.quality.learned import load_alignscore

    scores = load_alignscore(weights)

    def judge(examples: Sequence[Example], answers: Sequence[str]) -> list[Judgement]:
        claims = [_references(example) for example in examples]
        pairs = [(answer, claim) for answer, own in zip(answers, claims, strict=True) for claim in own]
        scored = iter(scores(pairs))
        return [_best([next(scored) for _ in own]) for own in claims]

    return judge


def _alignscore_source(weights: Path | None) -> Judge:
    from analysis.quality.learned import load_alignscore

    scores = load_alignscore(weights)
    return lambda examples, answers: [
        _best([score])
        for score in scores([(example.source, answer) for example, answer in zip(examples, answers, strict=True)])
    ]


def _comet(weights: Path | None) -> Judge:
    from analysis.quality.learned import load_comet

    scores = load_comet(weights)

    def judge(examples: Sequence[Example], answers: Sequence[str]) -> list[Judgement]:
        triples = [
            [
                (example.source.strip(), answer.strip(), reference)
                for reference in _references(example)
                if answer.strip()
            ]
            for example, answer in zip(examples, answers, strict=True)
        ]
        scored = iter(scores([triple for own in triples for triple in own]))
        return [
            _best([next(scored) for _ in own]) if own else undefined("COMET is not defined for an empty translation")
            for own in triples
        ]

    return judge


EXACT_TRUTH, FACTS = "exact_truth", "facts"

_TABLE = (
    Measure("none", "No quality", (), "uncertainty only", _none),
    Measure("given", "Quality of the data set", ("quality",), "a column of the data set", _given),
    Measure(EXACT_TRUTH, "Exact truth", (), "the embedded model's prompts", _exact_truth),
    Measure(
        FACTS,
        "Names the fact",
        ("references", "group"),
        "the tables of facts: an accepted answer is named, and no other of the same kind",
        _facts,
    ),
    Measure(
        "accuracy",
        "Accuracy",
        ("references",),
        "MMLU and GSM8k in the paper",
        lambda _weights: _best_of(accuracy),
    ),
    Measure(
        "contains",
        "Names the reference",
        ("references",),
        "SQuAD's exact match, inside a sentence too; unclear where the wording leaves it open",
        _contains,
    ),
    Measure("exact_match", "Exact match", ("references",), "SQuAD", lambda _weights: _best_of(exact_match)),
    Measure("token_f1", "Token F1", ("references",), "SQuAD", lambda _weights: _best_of(token_f1)),
    Measure("rouge_l", "ROUGE-L", ("references",), "Lin (2004), package rouge-score", _rouge_l),
    Measure(
        "alignscore",
        "AlignScore of the reference, given the answer",
        ("references", "weights"),
        "Zha et al. (2023); question answering in the paper",
        _alignscore,
    ),
    Measure(
        "alignscore_source",
        "AlignScore of the answer, given the source",
        ("source", "weights"),
        "Zha et al. (2023); summaries in the paper",
        _alignscore_source,
    ),
    Measure(
        "comet",
        "COMET",
        ("source", "references", "weights"),
        "Rei et al. (2020, 2022); translation in the paper",
        _comet,
        Thresholds(roc=0.85),
    ),
)
MEASURES: Mapping[str, Measure] = MappingProxyType({row.id: row for row in _TABLE})

OWN = Measure("own", "Own function", (), "a Python function of the user", _function_missing)
"""The measure of a run whose user gave a function of quality; it is in no list, since only that user has it."""


_ANSWERS, _QUESTIONS = ("A:", "Answer:"), ("Q:", "Question:")


class Ruling(NamedTuple):
    """Whether an answer is correct, None where the measure does not decide it, the measure, and what it goes by.

    `reason`: why it is not decided. `matching` and `opposing`: what the answer names that is the correct answer, and
    what it names of the same kind that is not, as it is written; None where the measure looks for no names.
    """

    correct: bool | None
    measure: Measure
    reason: str = ""
    matching: tuple[str, ...] | None = None
    opposing: tuple[str, ...] | None = None


def judge_typed(prompt: str, correct_answer: str, answer: str) -> Ruling:
    """Judge an answer by a correct answer that somebody typed; several are separated by " | ".

    By the rule for facts where it fits, else by its words.
    """
    from analysis.datasets.facts.tables import SEPARATOR
    from analysis.quality.facts import family_of, stated_facts

    question = last_question(prompt)
    references = tuple(text.strip() for text in correct_answer.split(SEPARATOR) if text.strip())
    family = family_of(question, references)
    example = Example(id="typed", prompt=prompt, question=question, references=references, group=family)
    chosen = measure("facts" if family else default_quality([example])[0])
    (judged,) = load_judge(chosen.id)([example], [answer])
    correct = chosen.thresholds.decide(judged.quality)
    if not family:
        return Ruling(correct, chosen, judged.reason)
    stated = [(fact.correct, answer[fact.start : fact.end]) for fact in stated_facts(example, answer)]
    matching, opposing = (
        tuple(dict.fromkeys(text for right, text in stated if right == side)) for side in (True, False)
    )
    return Ruling(correct, chosen, judged.reason, matching, opposing)


def last_question(prompt: str) -> str:
    """Return what is asked after worked examples that end with lines "Q: ..." and "A:"; else the whole prompt."""
    *_, asked, last = ["", "", *prompt.strip().splitlines()]
    if last.strip() not in _ANSWERS:
        return prompt.strip()
    for mark in _QUESTIONS:
        asked = asked.strip().removeprefix(mark)
    return asked.strip()
