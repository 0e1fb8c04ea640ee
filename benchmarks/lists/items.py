"""The items of an answer that lists several: lines such as "2. Norway: Oslo", each judged by itself."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.datasets.example import Example
from analysis.datasets.facts.tables import Fact
from analysis.normalisation import plain_words
from analysis.quality.facts import judge_fact
from benchmarks.lists.questions import ListQuestion
from rauq.scoring.score import score
from rauq.scoring.sentence_scores import SentenceScore, sentence_scores
from rauq.trace.trace import Trace

_MARKER = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s*")
_BETWEEN = ": "
Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Item:
    """A line that answers for one subject.

    `question`: its number. `group`: its family of facts. `place`: the line's place among the sentences of the answer.
    `repeats`: whether an earlier line, or the worked example, states the same of another subject.
    """

    question: int
    group: str
    place: int
    text: str
    repeats: bool
    correct: bool
    score: SentenceScore


class Counts(NamedTuple):
    """Subjects that were asked of, and how many of them have a line that is judged, or that the judge cannot decide."""

    asked: int
    judged: int
    unclear: int

    def __str__(self) -> str:
        """In words, with the share."""
        missing = self.asked - self.judged - self.unclear
        return (
            f"{self.judged:,} of {self.asked:,} subjects have a judged item ({self.judged / self.asked:.0%}); "
            f"{missing:,} have no line, or one that was cut off; {self.unclear:,} are unclear to the judge"
        )


class _Line(NamedTuple):
    """A sentence that is a line by itself: its place, score and text, the subject that it names, what it states."""

    place: int
    score: SentenceScore
    text: str
    subject: Words
    stated: str


def items_of(questions: Sequence[ListQuestion], traces: Sequence[Trace | None]) -> tuple[tuple[Item, ...], Counts]:
    """The judged items of all answers; None: an answer that failed."""
    pairs = zip(questions, traces, strict=True)
    found = [list(_in_answer(number, *pair)) for number, pair in enumerate(pairs)]
    items = tuple(item for own in found for item in own if item is not None)
    lines = sum(map(len, found))
    return items, Counts(sum(len(one.facts) for one in questions), len(items), lines - len(items))


def _in_answer(number: int, question: ListQuestion, trace: Trace | None) -> Iterator[Item | None]:
    """The first line of each subject that has one, in the order of the question; None where it cannot be judged."""
    lines = [] if trace is None else list(_lines(trace))
    given = {plain_words(fact.accepted[0]) for fact in question.solved}
    for fact in question.facts:
        line = next((line for line in lines if line.subject == _name(fact.subject)), None)
        if line is not None:
            before = {plain_words(one.stated) for one in lines if one.place < line.place}
            quality = judge_fact(_example(fact), line.stated).quality
            repeats = plain_words(line.stated) in given | before
            yield None if np.isnan(quality) else _item(number, fact, line, repeats=repeats, correct=quality == 1)


def _item(number: int, fact: Fact, line: _Line, *, repeats: bool, correct: bool) -> Item:
    return Item(
        question=number,
        group=fact.family.id,
        place=line.place,
        text=line.text,
        repeats=repeats,
        correct=correct,
        score=line.score,
    )


def _lines(trace: Trace) -> Iterator[_Line]:
    """The lines of an answer that are single sentences and state something of a subject, but for one that was cut."""
    for place, one in enumerate(sentence_scores(trace, score(trace))):
        before, written = trace.answer[: one.start], trace.answer[one.start : one.end]
        is_last = one.end == len(trace.answer)
        is_line = (not before or before.endswith("\n")) and (is_last or written.endswith("\n"))
        text = _MARKER.sub("", written, count=1).strip()
        subject, _, stated = text.rpartition(_BETWEEN)
        if is_line and subject and stated and not (is_last and trace.stop_reason == "length"):
            yield _Line(place, one, text, _name(subject), stated)


def _name(subject: str) -> Words:
    """The words of a subject, without its article."""
    words = plain_words(subject)
    return words[1:] if words[:1] == ("the",) else words


def _example(fact: Fact) -> Example:
    return Example(
        id=fact.id, prompt=fact.question, question=fact.question, references=fact.accepted, group=fact.family.id
    )
