"""The exact truth of the embedded model's prompts."""

from collections.abc import Callable

from analysis.datasets.example import Example
from analysis.quality.judgement import Judgement, undefined
from rauq.atlas.evaluation import FAMILIES, judge, load_examples


def load_truth() -> Callable[[Example, str], Judgement]:
    """The judge of answers to the embedded prompts, which are known by the id of the example.

    Quality is 1 where the answer is right, else 0; the facts are all that it states, right or not.
    """
    known = {prompt.id: prompt for family in FAMILIES for prompt in load_examples(family)}

    def exact_truth(example: Example, answer: str) -> Judgement:
        if example.id not in known:
            return undefined(f"no embedded prompt has the id {example.id!r}")
        verdict = judge(known[example.id], answer)
        return Judgement(float(verdict.correct), facts=tuple((fact.start, fact.end) for fact in verdict.statements))

    return exact_truth
