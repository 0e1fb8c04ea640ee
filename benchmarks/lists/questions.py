"""Questions that each name five subjects of one relation, below a worked example; no subject is asked of twice."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from analysis.datasets.facts.tables import Fact, facts
from rauq.trace.messages import Message
from rauq.trace.trace import Kind

COUNT, SUBJECTS = 300, 5
TASKS = MappingProxyType(
    {
        "capitals": "What is the capital of each of these countries?",
        "cities": "In which country is each of these cities?",
        "currencies": "What is the currency of each of these countries?",
        "symbols": "What is the chemical symbol of each of these elements?",
        "elements": "Which chemical element has each of these symbols?",
        "atomic_numbers": "What is the atomic number of each of these elements?",
        "authors": "Who is the author of each of these works?",
        "painters": "Who painted each of these works?",
        "composers": "Who composed each of these works?",
    }
)
"""The question of each family of facts whose subjects make a list."""


@dataclass(frozen=True, kw_only=True)
class ListQuestion:
    """Five facts of one family that are asked together, and the five of its worked example."""

    facts: tuple[Fact, ...]
    solved: tuple[Fact, ...]

    @property
    def group(self) -> str:
        """Their family."""
        return self.facts[0].family.id

    def prompt(self, kind: Kind) -> str | list[Message]:
        """A conversation with the worked example as its first turn; for a base model, one text."""
        worked, asked = _numbered(map(_answered, self.solved)), self.asked
        if kind == "base":
            return f"Q: {_question(self.solved)}\nA:\n{worked}\n\nQ: {asked}\nA:\n"
        return [
            Message(role="user", content=_question(self.solved)),
            Message(role="assistant", content=worked),
            Message(role="user", content=asked),
        ]

    @property
    def asked(self) -> str:
        """The question, without the worked example."""
        return _question(self.facts)


def _question(asked: Sequence[Fact]) -> str:
    return f"{TASKS[asked[0].family.id]}\n{_numbered(fact.subject for fact in asked)}"


def _answered(fact: Fact) -> str:
    return f"{fact.subject}: {fact.accepted[0]}"


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def list_questions(count: int = COUNT, *, seed: int = 0) -> tuple[ListQuestion, ...]:
    """So many questions, as evenly over the families as their tables allow."""
    rng = random.Random(seed)
    of_family = [_of_family([fact for fact in facts() if fact.family.id == name], rng) for name in TASKS]
    rounds = [questions[place] for place in range(count) for questions in of_family if place < len(questions)]
    return tuple(rounds[:count])


def _of_family(known: Sequence[Fact], rng: random.Random) -> list[ListQuestion]:
    """All questions of a family, with the worked examples of the family and one more common fact."""
    solved = [fact for fact in known if fact.subject in fact.family.solved]
    others = rng.sample([fact for fact in known if fact not in solved], len(known) - len(solved))
    solved.append(next(fact for fact in others if fact.stratum == "common"))
    others.remove(solved[-1])
    starts = range(0, len(others) - SUBJECTS + 1, SUBJECTS)
    return [ListQuestion(facts=tuple(others[start : start + SUBJECTS]), solved=tuple(solved)) for start in starts]
