"""Methods that ask a judge of meaning, with the judge that knows the facts: certain of everything, right or not."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rauq.judges.judges import CONTRADICTION, ENTAILMENT, Entailment, Facts, Judges, Similarity, Texts
from rauq.methods.method import Evidence, Method, Uncertainty
from rauq.methods.needs import present

_ASKED = frozenset({"nli", "similarity", "keywords"})


def with_facts(method: Method) -> Method:
    """The same method, asking this judge instead: a row with a name of its own, for it is not the paper's judge."""
    return replace(
        method,
        id=f"{method.id}_facts",
        name=f"{method.name.removesuffix(' NLI entail.')} (same facts)",
        compute=_on_facts(method.compute),
        needs=method.needs - _ASKED | {"facts"},
    )


def _on_facts(compute: Callable[[Evidence], Uncertainty]) -> Callable[[Evidence], Uncertainty]:
    """Two answers mean the same if they state the same facts, and else contradict each other.

    This judge reads answers alone: neither question nor prompt stands before them.
    """

    def on_known_facts(evidence: Evidence) -> Uncertainty:
        judges = _judges_of(present(evidence.judges.facts, "facts"))
        trace = replace(evidence.trace, prompt="")
        return compute(replace(evidence, trace=trace, judges=judges, question=""))

    return on_known_facts


def _judges_of(facts: Facts) -> Judges:
    """Judges that say 1 or 0."""
    return Judges(nli=_entailment(facts), similarity=_similarity(facts), keywords=facts.keywords)


def _similarity(facts: Facts) -> Similarity:
    def similarity(firsts: Texts, seconds: Texts) -> np.ndarray:
        pairs = zip(firsts, seconds, strict=True)
        return np.array([facts.same(first, second) for first, second in pairs], dtype=np.float64)

    return similarity


def _entailment(facts: Facts) -> Entailment:
    similarity = _similarity(facts)

    def entailment(premises: Texts, hypotheses: Texts) -> np.ndarray:
        same = similarity(premises, hypotheses)
        probabilities = np.zeros((len(same), 3))
        probabilities[:, ENTAILMENT], probabilities[:, CONTRADICTION] = same, 1 - same
        return probabilities

    return entailment
