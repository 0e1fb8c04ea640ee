"""The facts as data sets: a plain question, whose answer is a sentence, or few-shot, where it is a word."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from analysis.datasets.example import DataSet, Example
from analysis.datasets.facts.tables import FAMILIES, Fact, facts
from rauq.errors import InvalidInput
from rauq.trace.trace import Kind

FACT_SETS = (PLAIN, FEW_SHOT) = ("facts", "facts_few_shot")

FACT_FORMS: Mapping[str, str] = MappingProxyType(
    {PLAIN: "Plain questions, answered in a sentence", FEW_SHOT: "Few-shot, answered in a word"}
)

_SENTENCE, _WORD = 40, 16  # tokens


def fact_set(name: str, *, kind: Kind, family: str = "") -> DataSet:
    """Every question but the worked examples, in the form that the name says, plain ones worded for a kind of model.

    The group is the family, the stratum how widely the fact is known. Both forms ask the same questions, under the
    same ids. Few-shot prompts are plain text for chat models too, since a chat template invites a whole sentence.
    `family`: this one alone.

    Raises:
        InvalidInput: no such family.
    """
    _check_family(family)
    few_shot = name == FEW_SHOT
    solved: dict[str, list[Fact]] = {}
    for fact in facts():
        if fact.subject in fact.family.solved:
            solved.setdefault(fact.family.id, []).append(fact)
    wanted = {family} if family else set(FAMILIES)
    asked = [fact for fact in facts() if fact.family.id in wanted and fact.subject not in fact.family.solved]
    examples = [_example(fact, kind, solved[fact.family.id] if few_shot else ()) for fact in asked]
    return DataSet(
        name=f"{name}: {family}" if family else name,
        examples=tuple(examples),
        quality="facts",
        max_new_tokens=_WORD if few_shot else _SENTENCE,
        stop=("\n",) if few_shot else None,
        chat=False if few_shot else None,
    )


def _check_family(family: str) -> None:
    if family and family not in FAMILIES:
        message = f"There is no family of facts {family!r}. Choose one of {', '.join(FAMILIES)}."
        raise InvalidInput(message)


def _example(fact: Fact, kind: Kind, solved: Sequence[Fact]) -> Example:
    if solved:
        shots = [f"{_completion_prompt(shot.question)} {shot.accepted[0]}" for shot in solved]
        prompt = "\n\n".join([*shots, _completion_prompt(fact.question)])
    else:
        prompt = fact.question if kind == "instruct" else _completion_prompt(fact.question)
    return Example(
        id=fact.id,
        prompt=prompt,
        references=fact.accepted,
        question=fact.question,
        group=fact.family.id,
        stratum=fact.stratum,
    )


def _completion_prompt(question: str) -> str:
    """The question as a text that goes on with its answer."""
    return f"Question: {question}\nAnswer:"
