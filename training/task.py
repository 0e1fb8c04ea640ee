"""A question with the wordings of its answer, from which the corpus is written and answers are judged."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from rauq.atlas.evaluation import FILLERS, Fact


@dataclass(frozen=True)
class Task:
    """A question, the wordings of its answer with their weights, and its facts."""

    question: str
    wordings: tuple[str, ...]
    weights: tuple[float, ...]
    facts: tuple[Fact, ...]


def answer(task: Task, rng: Random, *, filled: float = 0.0) -> str:
    """Return an answer in a drawn wording, with a drawn synonym of each fact; a share of them ends in a filler."""
    wording = rng.choices(task.wordings, task.weights)[0]
    text = wording.format(**{fact.name: rng.choice(fact.accepted) for fact in task.facts if fact.accepted})
    return f"{text[:-1]}, {rng.choice(FILLERS)}." if rng.random() < filled else text


def reference(wordings: Iterable[str], facts: Iterable[Fact]) -> str:
    """Return the correct answer in the first wording that states every required fact and nothing without a truth."""
    facts = tuple(facts)
    known = {fact.name: fact.accepted[0] for fact in facts if fact.accepted}
    required = {fact.name for fact in facts if fact.required}
    stating = {wording: {fact.name for fact in facts if f"{{{fact.name}}}" in wording} for wording in wordings}
    chosen = next(wording for wording, stated in stating.items() if required <= stated <= known.keys())
    return chosen.format(**known)
