"""The evaluation prompts of the embedded model, whose truth is exact."""

from types import MappingProxyType

from analysis.datasets.example import DataSet, Example
from analysis.datasets.sampling import spread
from rauq.atlas import evaluation
from rauq.atlas.evaluation import FAMILIES, Family

EMBEDDED_SETS: MappingProxyType[str, tuple[Family, ...]] = MappingProxyType(
    {"atlas": FAMILIES, **{family: (family,) for family in FAMILIES}}
)

_MOST_TOKENS = 64


def embedded_set(name: str, *, limit: int | None = None, per_group: int | None = None, seed: int = 0) -> DataSet:
    """All families ("atlas") or one of them; the group is the family, the stratum what makes a prompt easy or hard.

    `per_group` examples of each family, then `limit` of all: seeded, every stratum in proportion.

    Raises:
        InvalidInput: a limit below 1.
    """
    examples = [
        example
        for family in EMBEDDED_SETS[name]
        for example in spread([_example(row) for row in evaluation.load_examples(family)], per_group, seed=seed)
    ]
    chosen = spread(examples, limit, seed=seed)
    return DataSet(name=name, examples=chosen, quality="exact_truth", max_new_tokens=_MOST_TOKENS)


def _example(row: evaluation.Example) -> Example:
    asked = row.prompt.splitlines()[-2]  # worked examples come before it, the line where the answer goes after it
    content = asked.partition(": ")[2]
    is_question = row.family == "places"
    return Example(
        id=row.id,
        prompt=row.prompt,
        references=(row.reference,),
        source="" if is_question else content,
        question=content if is_question else asked,
        group=row.family,
        stratum=row.stratum,
    )
