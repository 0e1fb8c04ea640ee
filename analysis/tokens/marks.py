"""Which tokens of an answer state something incorrect: by the judge of facts, by a column of the file, or by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.datasets.example import Example
from analysis.quality.facts import stated_facts
from analysis.quality.judgement import Statement, Thresholds, fact_spans, load_statements
from analysis.quality.measures import EXACT_TRUTH, FACTS
from analysis.runs.opened import Run
from analysis.runs.traces import Tokens, tokens
from rauq.trace.parts import shows_text, tokens_in
from rauq.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class Marks:
    """The N tokens of an answer part: which are `wrong`, which state a correct fact (`right`), which are `shown`.

    A token is shown where it has text: white space alone and the end token are never counted.
    """

    wrong: np.ndarray
    right: np.ndarray
    shown: np.ndarray


def marks_of_run(run: Run, thresholds: Thresholds) -> tuple[Marks, ...]:
    """The marks of every answer of a run (A,).

    Where the data set names the wrong texts of an answer, these are wrong, and its other facts are right. Else the
    judge of the run says of each fact that an answer states whether it is correct; where it does not, the facts of an
    answer are wrong if the answer is incorrect by the thresholds, and right if it is correct.

    Raises:
        RunError: a shard can no longer be read.
    """
    judge = {FACTS: stated_facts, EXACT_TRUTH: load_statements()}.get(run.manifest.request.quality)
    answers = run.answers
    rows = zip(answers["number"], answers["answer"], answers["quality"], tokens(run), strict=True)
    found = []
    for number, text, quality, own in rows:
        example = run.examples[number]
        stated = judge(example, text) if judge and not example.wrong else None
        found.append(_marks(example, text, own, stated, correct=thresholds.decide(float(quality))))
    return tuple(found)


def _marks(
    example: Example, text: str, own: Tokens, stated: Sequence[Statement] | None, *, correct: bool | None
) -> Marks:
    """The marks of one answer, whose judged `text` is that of its tokens."""
    if example.wrong:
        wrong = _tokens(own, fact_spans(text, example.wrong))
        return Marks(wrong, own.fact & ~wrong, own.shown)
    if stated is None:
        none = np.zeros_like(own.fact)
        return Marks(own.fact if correct is False else none, own.fact if correct else none, own.shown)
    sides = [[(one.start, one.end) for one in stated if one.correct is side] for side in (False, True)]
    wrong, right = (_tokens(own, spans) for spans in sides)
    return Marks(wrong, right & ~wrong, own.shown)


def _tokens(own: Tokens, spans: Iterable[tuple[int, int]]) -> np.ndarray:
    return tokens_in(own.texts, spans) & own.shown


def marks_by_hand(trace: Trace) -> Marks:
    """The marks that a user made in Inspect: `trace.wrong`, and nothing is marked as right."""
    wrong = np.isin(np.arange(len(trace.answer_ids)), trace.wrong)
    return Marks(wrong, np.zeros_like(wrong), shows_text(trace))
