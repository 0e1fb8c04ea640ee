"""Questions that ask for five facts at once, and whether an answer to one has all of them right.

A question names five subjects of one family that are about as widely known; each subject is asked about once. A worked
example shows the form of the answer, a sentence a line, which a base model continues.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from analysis.datasets.example import DataSet, Example
from analysis.datasets.facts.tables import STRATA, Fact, facts
from analysis.quality.facts import judge_fact

ITEMS, QUESTIONS, LONGEST = 5, 150, 120


class Form(NamedTuple):
    """How a family is asked about five subjects, and how a sentence states the answer to one."""

    question: str
    sentence: str


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "capitals": Form("What are the capitals of {}?", "The capital of {} is {}."),
        "cities": Form("In which countries are the cities of {}?", "The city of {} is in {}."),
        "country_names": Form("Which countries are called {}?", "The country called {} is {}."),
        "symbols": Form("What are the chemical symbols of {}?", "The chemical symbol of {} is {}."),
    }
)


@dataclass(frozen=True, kw_only=True)
class FiveFacts:
    """A question about five subjects, and the prompt that asks it after a worked example."""

    facts: tuple[Fact, ...]
    worked: tuple[Fact, ...]

    @property
    def family(self) -> str:
        """That of all its subjects."""
        return self.facts[0].family.id

    @property
    def question(self) -> str:
        """What is asked."""
        return _question(self.facts)

    @property
    def prompt(self) -> str:
        """The worked example, and the question."""
        form = FORMS[self.family]
        solved = "\n".join(form.sentence.format(fact.subject, fact.accepted[0]) for fact in self.worked)
        return f"Question: {_question(self.worked)}\nAnswer:\n{solved}\n\nQuestion: {self.question}\nAnswer:\n"


def questions(count: int = QUESTIONS, *, seed: int = 0) -> tuple[FiveFacts, ...]:
    """So many questions, chosen among those of all families and strata; no subject is in two of them."""
    rng = random.Random(seed)
    made = [one for family in FORMS for one in _of_family(family, rng)]
    return tuple(rng.sample(made, min(count, len(made))))


def data_set(asked: Sequence[FiveFacts]) -> DataSet:
    """The questions as a data set whose answers have no quality yet."""
    examples = [
        Example(
            id=f"five-{place}",
            prompt=one.prompt,
            question=one.question,
            group=one.family,
            stratum=one.facts[0].stratum,
        )
        for place, one in enumerate(asked)
    ]
    return DataSet(
        name="lists of five facts",
        examples=tuple(examples),
        quality="none",
        max_new_tokens=LONGEST,
        stop=("\n\n",),
        chat=False,
    )


def quality_of(asked: FiveFacts, answer: str) -> float:
    """1 where each line names its fact, by the judge of facts; 0 where one does not; nan where one is unclear."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) < ITEMS:
        return 0.0
    found = [judge_fact(_example(fact), line).quality for fact, line in zip(asked.facts, lines, strict=False)]
    return 0.0 if 0.0 in found else math.nan if any(map(math.isnan, found)) else 1.0


def _of_family(family: str, rng: random.Random) -> list[FiveFacts]:
    own = [fact for fact in facts() if fact.family.id == family]
    solved = [fact for fact in own if fact.subject in fact.family.solved]
    first, *others = (fact for fact in own if fact not in solved)
    made = []
    for stratum in STRATA:
        subjects = [fact for fact in others if fact.stratum == stratum]
        rng.shuffle(subjects)
        starts = range(0, len(subjects) - ITEMS + 1, ITEMS)
        made += [FiveFacts(facts=tuple(subjects[start : start + ITEMS]), worked=(*solved, first)) for start in starts]
    return made


def _question(asked: Sequence[Fact]) -> str:
    *others, last = (fact.subject for fact in asked)
    return FORMS[asked[0].family.id].question.format(f"{', '.join(others)} and {last}")


def _example(fact: Fact) -> Example:
    return Example(
        id=fact.id, prompt=fact.question, question=fact.question, references=fact.accepted, group=fact.family.id
    )
