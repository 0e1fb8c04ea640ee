"""Whether a headline that names no word of the question falls on the fact of an answer more often.

In the bundled run the judge marks the token where each answer states its fact, rightly or wrongly. Answers without such
a token, or with nothing else, are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from analysis.answer_sets.sides import sides
from analysis.evidence.record import Cell, Record
from analysis.intervals import Scale, mean_estimate
from analysis.quality.measures import measure as quality_measure
from analysis.runs.library import bundled_folder
from analysis.runs.opened import Run, open_run
from analysis.runs.traces import traces_of
from analysis.stats import Estimate
from analysis.tokens.detection import Marks, marks_of_run
from benchmarks.support.recording import measured
from rauq.labels import number
from rauq.scoring.headline import headline_token, of_question
from rauq.scoring.score import collapse_token, score
from rauq.trace.trace import Trace
from rauq.trace.words import content_tokens

COLUMNS = (
    "answers",
    "token",
    "n",
    "on the fact, %",
    "low",
    "high",
    "minus largest collapse",
    "change low",
    "change high",
)
LARGEST, HEADLINE = "largest collapse", "headline"
ANY, FIRST = "control: any token but words of the question", "control: first content word not in the question"
RULES = (LARGEST, HEADLINE, ANY, FIRST)
INCORRECT, CORRECT = "incorrect", "correct"
_SHARES, _DIFFERENCES = Scale(0.5, 0.0, 1.0), Scale(0.0, -1.0, 1.0)
_AS_TRUE = MappingProxyType({INCORRECT: "the incorrect fact", CORRECT: "the correct fact"})


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer: whether each rule's token states the fact, from 0 to 1, and whether the headline is not the largest.

    `side`: incorrect or correct. `cluster`: equal for answers to one question.
    """

    side: str
    cluster: int
    hits: Mapping[str, float]
    moved: bool


def measure() -> Record:
    """Compare the rules on the answers of the bundled run."""
    return record_of(list(answers_of(open_run(bundled_folder()))))


def answers_of(run: Run) -> Iterator[Answer]:
    """The answers of a run with a verdict and a token that states the fact."""
    thresholds = quality_measure(run.manifest.request.quality).thresholds
    verdicts = sides(run.answers["quality"].to_numpy(dtype=float), thresholds)
    asked = [run.examples[number].asked for number in run.answers["number"]]
    for row, (trace, marks) in enumerate(zip(traces_of(run), marks_of_run(run, thresholds), strict=True)):
        side = INCORRECT if verdicts.incorrect[row] else CORRECT if verdicts.correct[row] else ""
        fact = marks.wrong if side == INCORRECT else marks.right
        if side and fact.any() and fact[marks.shown].mean() < 1:
            yield answer_of(trace, marks, fact, side=side, question=asked[row], cluster=int(run.clusters[row]))


def answer_of(trace: Trace, marks: Marks, fact: np.ndarray, *, side: str, question: str, cluster: int) -> Answer:
    """What each rule finds in one answer, whose tokens state the `fact` (N,) or not."""
    found = score(trace)
    largest, headline = collapse_token(trace, found), headline_token(trace, found)
    others = marks.shown & ~of_question(trace)
    content = np.flatnonzero(content_tokens(trace.answer_tokens, question) & marks.shown)
    hits = {
        LARGEST: float(largest is not None and fact[largest]),
        HEADLINE: float(headline is not None and fact[headline]),
        ANY: float(fact[others].mean()) if others.any() else 0.0,
        FIRST: float(content.size > 0 and fact[content[0]]),
    }
    return Answer(side=side, cluster=cluster, hits=hits, moved=headline != largest)


def record_of(answers: list[Answer]) -> Record:
    """The table, with what the headline changes, and the finding."""
    groups = {side: [one for one in answers if one.side == side] for side in (INCORRECT, CORRECT)}
    return measured(
        "weak_points",
        title="Headlines without words of the question",
        about="How often the token that a rule names is one that states the fact of the answer, in greedy answers of "
        "smollm2 to questions about facts. The headline is the largest collapse unless that repeats a word of the "
        "question and another token is weak. 95 % intervals by question.",
        columns=COLUMNS,
        rows=[_row(side, rule, group) for side, group in groups.items() for rule in RULES],
        notes=(
            "The judge of facts marks the tokens, without regard to the score.",
            *(f"{side}: the headline differs in {_moved(group)} answers." for side, group in groups.items()),
        ),
        finding=" ".join(_finding(side, group) for side, group in groups.items()),
        packages=("numpy",),
    )


def share(answers: list[Answer], rule: str) -> Estimate:
    """How often the token of a rule states the fact."""
    return _mean(np.array([one.hits[rule] for one in answers]), answers, _SHARES)


def change(answers: list[Answer], rule: str) -> Estimate:
    """How much more often than the largest collapse."""
    return _mean(np.array([one.hits[rule] - one.hits[LARGEST] for one in answers]), answers, _DIFFERENCES)


def _mean(values: np.ndarray, answers: list[Answer], scale: Scale) -> Estimate:
    return mean_estimate(values, np.array([one.cluster for one in answers]), scale=scale)


def _row(side: str, rule: str, answers: list[Answer]) -> tuple[Cell, ...]:
    own, beside = share(answers, rule), change(answers, rule)
    differences: tuple[Cell, ...] = ("–",) * 3 if rule == LARGEST else _percents(beside)
    return (side, rule, own.n, *_percents(own), *differences)


def _percents(found: Estimate) -> tuple[float, float, float]:
    value, low, high = (round(100 * one, 1) for one in (found.value, found.low, found.high))
    return value, low, high


def _moved(answers: list[Answer]) -> int:
    return sum(one.moved for one in answers)


def _finding(side: str, answers: list[Answer]) -> str:
    shares = {rule: f"{number(100 * share(answers, rule).value, places=0)} %" for rule in RULES}
    value, low, high = (number(one, places=1) for one in _percents(change(answers, HEADLINE)))
    return (
        f"Of {len(answers)} {side} answers the headline falls on {_AS_TRUE[side]} in {shares[HEADLINE]}, the largest "
        f"collapse in {shares[LARGEST]} (difference {value} points [{low}, {high}]), any token but words of the "
        f"question in {shares[ANY]}, the first content word not in the question in {shares[FIRST]}."
    )
