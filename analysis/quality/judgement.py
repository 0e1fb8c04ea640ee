"""How good one answer is, where in it its facts stand, and the exact truth of the embedded prompts."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis.datasets.example import Example
from rauq.atlas.evaluation import FAMILIES, judge, load_examples
from rauq.atlas.evaluation import Example as Prompt


@dataclass(frozen=True)
class Judgement:
    """Quality of one answer, higher is better; nan where it is undefined, and then `reason` says why.

    `facts`: characters (start, end) of the answer that carry the fact, if the truth states them. `unclear`: the answer
    has a truth, which a reader can see and the rule cannot; quality is nan until it is read.
    """

    quality: float
    reason: str = ""
    facts: tuple[tuple[int, int], ...] = ()
    unclear: bool = False


@dataclass(frozen=True)
class Statement:
    """A fact that an answer states, at characters (start, end), and whether it is correct."""

    start: int
    end: int
    correct: bool


def undefined(reason: str) -> Judgement:
    """An answer whose quality is undefined."""
    return Judgement(math.nan, reason)


def unclear(reason: str) -> Judgement:
    """An answer that has to be read."""
    return Judgement(math.nan, f"unclear: {reason}", unclear=True)


@dataclass(frozen=True)
class Thresholds:
    """Quality above `correct` is correct and below `incorrect` is incorrect, in figures (paper, figure 3).

    Between the two an answer is neither. `roc`: quality above it is correct where every answer has to be one or the
    other (paper, table of ROC-AUC).
    """

    correct: float = 0.9
    incorrect: float = 0.1
    roc: float = 0.5

    def decide(self, quality: float) -> bool | None:
        """Whether an answer of this quality is correct; None for one that is neither, or whose quality is nan."""
        if quality > self.correct:
            return True
        return False if quality < self.incorrect else None


def fact_spans(answer: str, texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Characters (start, end) of every occurrence of every text in the answer, in order; case does not matter.

    An occurrence inside a longer word or number is none: 5 does not occur in 50. Scripts that write without spaces
    have no such limits.
    """
    found = {
        match.span()
        for text in texts
        if text.strip()
        for match in re.finditer(re.escape(text.strip()), answer, re.IGNORECASE)
        if not _cut(answer, match.start()) and not _cut(answer, match.end())
    }
    return tuple(sorted(found))


def _cut(answer: str, place: int) -> bool:
    """Whether the place lies inside a word or a number."""
    return 0 < place < len(answer) and all(_spaced(letter) for letter in answer[place - 1 : place + 1])


def _spaced(letter: str) -> bool:
    return letter.isdigit() or letter.lower() != letter.upper()


def load_truth() -> Callable[[Example, str], Judgement]:
    """The judge of answers to the embedded prompts, which are known by the id of the example.

    Quality is 1 if the answer is correct, else 0; the facts are all that it states, correct or not.
    """
    known = _embedded_prompts()

    def exact_truth(example: Example, answer: str) -> Judgement:
        if example.id not in known:
            return undefined(f"no embedded prompt has the id {example.id!r}")
        verdict = judge(known[example.id], answer)
        return Judgement(float(verdict.correct), facts=tuple((fact.start, fact.end) for fact in verdict.statements))

    return exact_truth


def load_statements() -> Callable[[Example, str], tuple[Statement, ...]]:
    """The facts that an answer to an embedded prompt states, in order; none where the prompt is no embedded one."""
    known = _embedded_prompts()

    def statements(example: Example, answer: str) -> tuple[Statement, ...]:
        stated = judge(known[example.id], answer).statements if example.id in known else ()
        return tuple(Statement(one.start, one.end, one.correct) for one in stated)

    return statements


def _embedded_prompts() -> dict[str, Prompt]:
    return {prompt.id: prompt for family in FAMILIES for prompt in load_examples(family)}
