"""The paper's data sets as examples: their raw rows, from the hub or a copy, and which of them are asked."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import ModuleType

from analysis.datasets.example import DataSet, Example, Rejected
from analysis.datasets.paper.paper_set import PaperSet, PromptOptions, Row
from analysis.datasets.sampling import sample
from rauq.errors import DataSetNotFound, InvalidInput, MissingPackage, RauqError
from rauq.trace.trace import Kind

_HUB_SECONDS = 5


def raw_rows(paper_set: PaperSet, split: str, path: Path | None) -> Iterator[Row]:
    """The rows of a split, read as they are needed; from the hub where `path` is None.

    Raises:
        DataSetNotFound: no network, nothing there, no such split, or no rows.
        InvalidInput: the rows lack a column that the set has.
        MissingPackage: the `datasets` library is not installed.
    """
    library = _library()
    with _plain_errors(paper_set, path):
        found = _on_the_hub(library, paper_set, split) if path is None else _in_folder(library, paper_set, split, path)
        rows = iter(found)
        first = next(rows, None)
    if first is None:
        message = f"The {split} split of {paper_set.title} has no rows. {_how_to_bring(paper_set)}"
        raise DataSetNotFound(message)
    if missing := [column for column in paper_set.columns if column not in first]:
        message = (
            f"The {split} split has no column {missing[0]!r}, which {paper_set.title} has; "
            f"it has {', '.join(first)}. {_how_to_bring(paper_set)}"
        )
        raise InvalidInput(message)
    yield first
    with _plain_errors(paper_set, path):
        yield from rows


def _library() -> ModuleType:
    try:
        import datasets
    except ImportError as error:
        message = "The paper's data sets need the datasets library: pip install -r requirements-extra.txt"
        raise MissingPackage(message) from error
    return datasets


def _on_the_hub(library: ModuleType, paper_set: PaperSet, split: str) -> Iterator[Row]:
    from huggingface_hub import HfApi

    # The library would try for half a minute before it says that there is no network.
    HfApi().dataset_info(paper_set.hub_id, revision=paper_set.revision, timeout=_HUB_SECONDS)
    # Streamed: a split of thousands beside one of 35 million rows is read without the other.
    return iter(
        library.load_dataset(
            paper_set.hub_id, paper_set.config, revision=paper_set.revision, split=split, streaming=True
        )
    )


def _in_folder(library: ModuleType, paper_set: PaperSet, split: str, path: Path) -> Iterator[Row]:
    folder = path.expanduser().absolute()
    if not folder.is_dir():
        message = f"{path} is not a folder. {_how_to_bring(paper_set)}"
        raise DataSetNotFound(message)
    if (folder / "dataset_dict.json").is_file():
        splits = library.load_from_disk(str(folder))
        _check_split(split, list(splits), paper_set, path)
        return iter(splits[split])
    if (folder / "state.json").is_file():
        _check_split(split, [paper_set.split], paper_set, path)
        return iter(library.load_from_disk(str(folder)))
    known = library.get_dataset_config_names(str(folder))
    config = paper_set.config if paper_set.config in known else None
    _check_split(split, library.get_dataset_split_names(str(folder), config), paper_set, path)
    return iter(library.load_dataset(str(folder), config, split=split, streaming=True))


def _check_split(split: str, known: list[str], paper_set: PaperSet, path: Path) -> None:
    if split not in known:
        message = (
            f"The copy of {paper_set.title} in {path} has no {split} split; it has {', '.join(known) or 'none'}. "
            f"{_how_to_bring(paper_set)}"
        )
        raise DataSetNotFound(message)


@contextmanager
def _plain_errors(paper_set: PaperSet, path: Path | None) -> Iterator[None]:
    try:
        yield
    except RauqError:
        raise
    except Exception as error:  # the network, the hub and other people's files fail in any way
        message = f"{paper_set.title} cannot be read from {_why_not(paper_set, path, error)} "
        raise DataSetNotFound(message + _how_to_bring(paper_set)) from error


def _why_not(paper_set: PaperSet, path: Path | None, error: Exception) -> str:
    from rauq.checkpoints.hub import hub_failure

    where = f"the hub, where it is {paper_set.hub_id}" if path is None else str(path)
    if path is None and (found := hub_failure(error, thing="data set")) is not None:
        return f"{where}: {found.what}. {found.todo}"
    return f"{where} ({type(error).__name__}: {' '.join(str(error).split())[:200]})."


def _how_to_bring(paper_set: PaperSet) -> str:
    splits = " and ".join(dict.fromkeys(filter(None, (paper_set.split, paper_set.few_shot_split))))
    config = f", config {paper_set.config}" if paper_set.config else ""
    return (
        f"On a machine with a network, load {paper_set.hub_id}{config} with the datasets library, save_to_disk its "
        f"{splits} split{'s' if ' and ' in splits else ''}, and give that folder as a copy, in a shell as "
        f"{paper_set.id}=FOLDER."
    )


_MOST_SOLVED = 1000  # worked examples are drawn from the first rows of their split, which may have millions

Numbered = tuple[int, Row]


def load_paper_set(
    paper_set: PaperSet, *, kind: Kind, path: Path | None = None, limit: int | None = None, seed: int = 0
) -> DataSet:
    """A data set of the paper: as many examples as the paper asks, or `limit`, drawn by the seed, in their order.

    `path`: a folder that the `datasets` library saved, or one with the set's files; else the hub is used. Ids end in
    the row's number in its split, counted from 0, and so do rejected rows.

    Raises:
        DataSetNotFound: no network, nothing under that name, or no such split in the copy.
        InvalidInput: the rows lack a column that the set has, or there are too few to solve first.
        MissingPackage: the `datasets` library is not installed.
    """
    rows = list(enumerate(raw_rows(paper_set, paper_set.split, path)))
    asked, pool = _split_rows(paper_set, rows, path, seed)
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


def _split_rows(
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
        if _is_usable(paper_set, row, kind):
            shared[row.get(paper_set.shared)].append(row)
    return {value: sample(rows, paper_set.n_shot, seed=seed) for value, rows in shared.items()}


def _is_usable(paper_set: PaperSet, row: Row, kind: Kind) -> bool:
    try:
        paper_set.example(row, PromptOptions("", kind))
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
            examples.append(paper_set.example(row, PromptOptions(f"{paper_set.id}-{number}", kind, shots)))
        except InvalidInput as reason:
            rejected.append(Rejected(number, str(reason)))
    return examples, rejected


def _check_shots(paper_set: PaperSet, shots: Sequence[Row]) -> None:
    wanted = (paper_set.n_shot or 0) if paper_set.few_shot_split else 0
    if len(shots) < wanted:
        split = paper_set.few_shot_split
        message = f"{wanted} worked examples are needed, but the {split} split has only {len(shots)} for them."
        raise InvalidInput(message)
