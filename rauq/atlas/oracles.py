"""Judges that know the facts: exact for the embedded prompts, because the truth about each of them is known."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from rauq.atlas.evaluation import Example, Verdict, examples_by_prompt, judge, same_facts
from rauq.judges.judges import CONTRADICTION, ENTAILMENT, Facts, Judges, Texts
from rauq.methods.method import Evidence, Method, Uncertainty, present

_ASKED = frozenset({"nli", "similarity", "keywords"})
_MOST_KEPT = 256  # verdicts in memory: each answer of a prompt is compared with all the others


def with_facts(method: Method) -> Method:
    """The same method, asking the judge of facts instead: a row of its own, for it is not the paper's judge."""
    return replace(
        method,
        id=f"{method.id}_facts",
        name=f"{method.name.removesuffix(' NLI entail.')} (same facts)",
        compute=partial(_on_facts, method),
        needs=method.needs - _ASKED | {"facts"},
    )


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


def _on_facts(method: Method, evidence: Evidence) -> Uncertainty:
    """Two answers mean the same if they state the same facts, and else contradict each other.

    This judge reads answers alone: neither question nor prompt stands before them.
    """
    judges = _judges_of(present(evidence.judges.facts, "facts"))
    trace = replace(evidence.trace, prompt="")
    return method.uncertainty(replace(evidence, trace=trace, judges=judges, question=""))


def _judges_of(facts: Facts) -> Judges:
    """Judges that say 1 or 0."""

    def similarity(firsts: Texts, seconds: Texts) -> np.ndarray:
        pairs = zip(firsts, seconds, strict=True)
        return np.array([facts.same(first, second) for first, second in pairs], dtype=np.float64)

    def entailment(premises: Texts, hypotheses: Texts) -> np.ndarray:
        same = similarity(premises, hypotheses)
        probabilities = np.zeros((len(same), 3))
        probabilities[:, ENTAILMENT], probabilities[:, CONTRADICTION] = same, 1 - same
        return probabilities

    return Judges(nli=entailment, similarity=similarity, keywords=facts.keywords)


def _stated(verdict: Verdict) -> tuple[tuple[int, int], ...]:
    return tuple((statement.start, statement.end) for statement in verdict.statements)
