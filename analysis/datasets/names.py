"""Every name under which a data set can be loaded: embedded sets, facts, the paper's sets, copies and files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from analysis.datasets.columns import Columns
from analysis.datasets.example import DataSet, Example, not_empty, spread
from analysis.datasets.facts.tables import FAMILIES as FACT_FAMILIES
from analysis.datasets.facts.tables import Fact, facts
from analysis.datasets.own_files import read_file
from analysis.datasets.public.marked_sets import MARKED_SETS, load_marked_set
from analysis.datasets.public.paper_set import load_paper_set
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.datasets.rows import examples_from
from analysis.datasets.understood import known_columns
from analysis.datasets.written_pairs import Pair, written_pairs
from rauq.atlas import evaluation
from rauq.atlas.evaluation import FAMILIES, Family
from rauq.errors import DataSetNotFound, InvalidInput
from rauq.scoring.empty import as_question
from rauq.trace.trace import Kind

FACT_SETS = (PLAIN, FEW_SHOT) = ("facts", "facts_few_shot")

FACT_FORMS: Mapping[str, str] = MappingProxyType(
    {PLAIN: "Plain questions, answered in a sentence", FEW_SHOT: "Few-shot, answered in a word"}
)

WRITTEN = "facts_written"
"""A right and a wrong written answer to each question, which the model reads; the wrong name is of another question."""

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
    wanted = {family} if family else set(FACT_FAMILIES)
    asked = [fact for fact in facts() if fact.family.id in wanted and fact.subject not in fact.family.solved]
    examples = [_fact_example(fact, kind, solved[fact.family.id] if few_shot else ()) for fact in asked]
    return DataSet(
        name=f"{name}: {family}" if family else name,
        examples=tuple(examples),
        quality="facts",
        max_new_tokens=_WORD if few_shot else _SENTENCE,
        stop=("\n",) if few_shot else None,
        chat=False if few_shot else None,
    )


def _check_family(family: str) -> None:
    if family and family not in FACT_FAMILIES:
        message = f"There is no family of facts {family!r}. Choose one of {', '.join(FACT_FAMILIES)}."
        raise InvalidInput(message)


def _fact_example(fact: Fact, kind: Kind, solved: Sequence[Fact]) -> Example:
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
    """The question as a text that its answer continues."""
    return f"Question: {question}\nAnswer:"


def written_set(*, kind: Kind, per_group: int | None = None, seed: int = 0) -> DataSet:
    """Written pairs of all families of facts, worded for a kind of model: half of the answers are correct.

    `per_group` questions of each family; None: as many as the table that comes with the app has.
    """
    options = {} if per_group is None else {"per_family": per_group}
    pairs = written_pairs(seed=seed, **options)
    examples = [_written_example(pair, kind, is_right=side) for pair in pairs for side in (True, False)]
    return DataSet(name=WRITTEN, examples=tuple(examples), quality="given")


def _written_example(pair: Pair, kind: Kind, *, is_right: bool) -> Example:
    written = pair.right if is_right else pair.wrong
    is_base = kind == "base"
    return Example(
        id=f"{pair.id}-{'right' if is_right else 'wrong'}",
        prompt=as_question(pair.question) if is_base else pair.question,
        question=pair.question,
        references=(pair.right.text[slice(*pair.right.name)],),
        answer=f" {written.text}" if is_base else written.text,
        quality=float(is_right),
        group=pair.group,
        stratum=pair.stratum,
        facts=(written.text[slice(*written.name)],),
        wrong=() if is_right else (written.text[slice(*written.name)],),
    )


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
    examples = tuple(
        _embedded_example(row) for family in EMBEDDED_SETS[name] for row in evaluation.load_examples(family)
    )
    data = DataSet(name=name, examples=examples, quality="exact_truth", max_new_tokens=_MOST_TOKENS)
    return _fewer(data, limit=limit, per_group=per_group, seed=seed)


def _fewer(data: DataSet, *, limit: int | None, per_group: int | None, seed: int) -> DataSet:
    groups: dict[str, list[Example]] = {}
    for example in data.examples:
        groups.setdefault(example.group, []).append(example)
    kept = [example for group in groups.values() for example in spread(group, per_group, seed=seed)]
    return replace(data, examples=spread(kept, limit, seed=seed))


def _embedded_example(row: evaluation.Example) -> Example:
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


PER_GROUP = (
    f"A limit per group works for {', '.join((*EMBEDDED_SETS, *FACT_SETS, WRITTEN))} only. Give a limit instead."
)


def load(
    name: str,
    *,
    kind: Kind,
    limit: int | None = None,
    per_group: int | None = None,
    columns: Columns | None = None,
    seed: int = 0,
) -> DataSet:
    """The data set of a name: "atlas" or a family, "facts" or "facts=FAMILY", "sciq" or "sciq=FOLDER", or a file.

    A copy of a set that people marked is "mu_shroom=FOLDER", "faithbench=FOLDER" or "helm=FOLDER".
    `kind` words the prompts of facts and of the paper's sets. `limit` examples are chosen by the seed; `per_group`
    holds for embedded sets and facts. `columns` are those of a file; without them they are guessed from their names.

    Raises:
        DataSetNotFound: no such name or file, or no network.
        InvalidInput: a file, a column or a limit that cannot be used, `per_group` among them, or no row that can.
        MissingPackage: a set of the paper needs the `datasets` library.
    """
    if name in EMBEDDED_SETS:
        return embedded_set(name, limit=limit, per_group=per_group, seed=seed)
    if name == WRITTEN:
        data = written_set(kind=kind, per_group=per_group, seed=seed)
        return replace(data, examples=spread(data.examples, limit, seed=seed))
    known, _, part = name.partition("=")
    if known in FACT_SETS:
        return _fewer(fact_set(known, kind=kind, family=part), limit=limit, per_group=per_group, seed=seed)
    if per_group is not None:
        raise InvalidInput(PER_GROUP)
    path = Path(part) if part else None
    if known in MARKED_SETS:
        return not_empty(load_marked_set(MARKED_SETS[known], path, limit=limit, seed=seed))
    if known in PAPER_SETS:
        return not_empty(load_paper_set(PAPER_SETS[known], kind=kind, path=path, limit=limit, seed=seed))
    data = _own_file(name, columns)
    return not_empty(replace(data, examples=spread(data.examples, limit, seed=seed)))


def _own_file(name: str, columns: Columns | None) -> DataSet:
    if not os.path.isfile(name):  # noqa: PTH113 - a Path raises where the text is no possible path
        message = (
            f"{name!r} is neither a file nor a known data set. Give the path of a CSV, JSONL or Parquet file, one of "
            f"{', '.join((*EMBEDDED_SETS, *FACT_SETS, WRITTEN))}, one of the paper's: {', '.join(PAPER_SETS)}, or a "
            f"copy of one that people marked: {', '.join(f'{one}=FOLDER' for one in MARKED_SETS)}."
        )
        raise DataSetNotFound(message)
    table = read_file(Path(name))
    return examples_from(table, columns or known_columns(table))
