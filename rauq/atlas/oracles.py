"""Judges that know the facts: exact for the embedded prompts, because the truth about each of them is known."""

from functools import lru_cache, partial

from rauq.atlas.evaluation import Example, Verdict, examples_by_prompt, judge, same_facts
from rauq.judges.judges import Facts

_MOST_KEPT = 256  # verdicts in memory: each answer of a prompt is compared with all the others


def facts_of(example: Example) -> Facts:
    """The judge of answers to one held-out prompt.

    Two answers are the same if they state the same facts, right or wrong; one in none of the accepted wordings is
    the same as an equal text only. Keywords are the stated facts. This is no model for natural-language inference.
    """
    verdict = lru_cache(_MOST_KEPT)(partial(judge, example))

    def same(first: str, second: str) -> bool:
        return first == second or same_facts(verdict(first), verdict(second))

    def keywords(answer: str) -> tuple[tuple[int, int], ...]:
        return _stated(verdict(answer))

    return Facts(same=same, keywords=keywords)


def facts_for_prompt(prompt: str) -> Facts | None:
    """The judge of answers to this prompt; None where it is no held-out prompt of the embedded model."""
    example = examples_by_prompt().get(prompt)
    return None if example is None else facts_of(example)


def _stated(verdict: Verdict) -> tuple[tuple[int, int], ...]:
    return tuple((statement.start, statement.end) for statement in verdict.statements)
