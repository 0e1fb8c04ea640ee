"""Judge one answer by a correct answer that somebody typed: by the rule for facts where it fits, else by its words."""

from typing import NamedTuple

from analysis.datasets.example import Example, default_quality
from analysis.datasets.facts.tables import SEPARATOR
from analysis.quality.facts import family_of
from analysis.quality.measures import Measure, load_judge, measure

_ANSWERS, _QUESTIONS = ("A:", "Answer:"), ("Q:", "Question:")


class Ruling(NamedTuple):
    """Whether an answer is correct, None where the measure does not decide it, and the measure."""

    correct: bool | None
    measure: Measure


def judge_typed(prompt: str, correct_answer: str, answer: str) -> Ruling:
    """Judge an answer; several correct ones are separated by " | "."""
    question = last_question(prompt)
    references = tuple(text.strip() for text in correct_answer.split(SEPARATOR) if text.strip())
    family = family_of(question, references)
    example = Example(id="typed", prompt=prompt, question=question, references=references, group=family)
    chosen = measure("facts" if family else default_quality([example])[0])
    (judged,) = load_judge(chosen.id)([example], [answer])
    return Ruling(chosen.thresholds.decide(judged.quality), chosen)


def last_question(prompt: str) -> str:
    """Return what is asked after worked examples that end with lines "Q: ..." and "A:"; else the whole prompt."""
    *_, asked, last = ["", "", *prompt.strip().splitlines()]
    if last.strip() not in _ANSWERS:
        return prompt.strip()
    for mark in _QUESTIONS:
        asked = asked.strip().removeprefix(mark)
    return asked.strip()
