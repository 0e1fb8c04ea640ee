"""The paper's data sets as examples: which rows are asked, and which are solved before them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from analysis.datasets.example import DataSet, Example, Rejected
from analysis.datasets.paper_set import Asking, PaperSet, Row
from analysis.datasets.raw_rows import raw_rows
from analysis.datasets.sampling import sample
from rauq.errors import InvalidInput
from rauq.trace import Kind

_MOST_SOLVED = 1000  # worked examples are drawn from the first rows of their split, which may have millions

Numbered = tuple[int, Row]


def load_paper_set(
    paper_set: PaperSet, *, kind: Kind, path: Path | None = None, limit: int | None = None, seed: int = 0
) -> DataSet:
    """A data set of the paper: as many examples as the paper asks, or `limit`, drawn by the seed, in their order.

    `path`: a folder that the `datasets` library saved, or one with the set's files; else the hub is asked. Ids end in
    the row's number in its split, counted from 0, and so do rejected rows.

    Raises:
        DataSetNotFound: no network, nothing under that name, or no such split in the copy.
        InvalidInput: the rows lack a column that the set has, or there are too few to solve first.
        MissingPackage: the `datasets` library is not installed.
    """
    rows = list(enumerate(raw_rows(paper_set, paper_set.split, path)))
    asked, pool = _asked_and_pool(paper_set, rows, path, seed)
    solved = _solved(paper_set, pool, kind, seed)
    expanded, unusable = _expanded(paper_set, asked)
    examples, rejected = _examples(
        paper_set, sample(expanded, paper_set.size if limit is None else limit, seed=seed), kind, solved
    )
    return DataSet(
        name=paper_set.title,
        examples=tuple(examples),
        rejected=(*unusable, *rejected),
        quality=paper_set.quality,
        max_new_tokens=paper_set.max_new_tokens,
    )


def _asked_and_pool(
    paper_set: PaperSet, rows: Sequence[Numbered], path: Path | None, seed: int
) -> tuple[Sequence[Numbered], list[Row]]:
    """The rows that may be asked, and those that worked examples may come from."""
    if not paper_set.few_shot_split:
        return rows, []
    if paper_set.few_shot_split != paper_set.split:
        return rows, list(islice(raw_rows(paper_set, paper_set.few_shot_split, path), _MOST_SOLVED))
    asked = sample(rows, max(1, len(rows) // 2), seed=seed)
    numbers = {number for number, _ in asked}
    return asked, [row for number, row in rows if number not in numbers]


def _solved(paper_set: PaperSet, pool: Sequence[Row], kind: Kind, seed: int) -> Mapping[object, Sequence[Row]]:
    """The worked examples, drawn once, for each value of the column in which they agree with the row."""
    if not paper_set.few_shot_split:
        return {}
    shared = defaultdict(list)
    for row in pool:
        if _can_be_asked(paper_set, row, kind):
            shared[row.get(paper_set.shared)].append(row)
    return {value: sample(rows, paper_set.n_shot, seed=seed) for value, rows in shared.items()}


def _can_be_asked(paper_set: PaperSet, row: Row, kind: Kind) -> bool:
    try:
        paper_set.example(row, Asking("", kind))
    except InvalidInput:
        return False
    return True


def _expanded(paper_set: PaperSet, rows: Iterable[Numbered]) -> tuple[list[Numbered], list[Rejected]]:
    expanded, rejected = [], []
    for number, row in rows:
        try:
            expanded += [(number, part) for part in paper_set.expand(row)]
        except InvalidInput as reason:
            rejected.append(Rejected(number, str(reason)))
    return expanded, rejected


def _examples(
    paper_set: PaperSet, rows: Iterable[Numbered], kind: Kind, solved: Mapping[object, Sequence[Row]]
) -> tuple[list[Example], list[Rejected]]:
    examples, rejected = [], []
    for number, row in rows:
        shots = solved.get(row.get(paper_set.shared), ())
        try:
            _check_shots(paper_set, shots)
            examples.append(paper_set.example(row, Asking(f"{paper_set.id}-{number}", kind, shots)))
        except InvalidInput as reason:
            rejected.append(Rejected(number, str(reason)))
    return examples, rejected


def _check_shots(paper_set: PaperSet, shots: Sequence[Row]) -> None:
    wanted = (paper_set.n_shot or 0) if paper_set.few_shot_split else 0
    if len(shots) < wanted:
        split = paper_set.few_shot_split
        message = f"{wanted} worked examples come before it, and the {split} split has {len(shots)} for it."
        raise InvalidInput(message)
