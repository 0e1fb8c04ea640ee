"""A data set of the paper: what it is, the prompts of its rows, and its rows from the hub or a copy as examples."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from analysis.datasets.example import DataSet, Example, Rejected, sample
from rauq.errors import DataSetNotFound, InvalidInput, MissingPackage, RauqError
from rauq.layout import EXTRAS_COMMAND
from rauq.trace.trace import Kind

Row = Mapping[str, Any]
Task = Literal["QA", "Summ", "MT"]


@dataclass(frozen=True)
class PromptOptions:
    """How the prompt of one row is made: its id, the kind of model, and the worked examples before it."""

    id: str
    kind: Kind
    solved: Sequence[Row] = ()


@dataclass(frozen=True, kw_only=True)
class PaperSet:
    """A data set of the paper as its table of data sets has it (appendix, "Statistics of the datasets").

    `example` turns a raw row into an example. `size`: how many are asked. `n_shot`: worked examples before each;
    None: as many as the row brings. `few_shot_split`: where they come from; "" where the set's own file writes them.
    The same name as `split`: one half of it, the other half is asked. `shared`: a column in which they have to be
    equal to the row. `expand`: the rows that are asked, from one raw row. `columns`: those that every row needs.
    `task`: the one under which the paper averages it.
    """

    id: str
    title: str
    task: Task
    hub_id: str
    config: str | None = None
    revision: str | None = None
    split: str
    few_shot_split: str = ""
    n_shot: int | None = 0
    size: int
    max_new_tokens: int
    quality: str
    columns: tuple[str, ...]
    example: Callable[[Row, PromptOptions], Example]
    expand: Callable[[Row], Sequence[Row]] = lambda row: (row,)
    shared: str = ""


@dataclass(frozen=True, kw_only=True)
class Form:
    """The words around a row: a first line for each kind of model, and what stands before what is given and wanted."""

    base: str
    instruct: str
    given: str = "Question"
    wanted: str = "Answer"


def _prompt_of(form: Form, kind: Kind, asked: str, solved: Sequence[tuple[str, str]] = ()) -> str:
    """The first line, what is solved, and what is asked, each a block that ends where the answer goes."""
    first = form.base if kind == "base" else form.instruct
    blocks = [f"{form.given}: {given}\n{form.wanted}: {one_line(answer)}" for given, answer in solved]
    return "\n\n".join([first, *blocks, f"{form.given}: {asked}\n{form.wanted}:"])


def one_line(text: str) -> str:
    """The text with every run of spaces and line breaks as one space: a base model stops at the first line break."""
    return " ".join(text.split())


def label_of(row: Row, column: str) -> str:
    """The text of a raw row's column that it may also lack."""
    value = row.get(column)
    return value.strip() if isinstance(value, str) else ""


def text_of(row: Row, column: str) -> str:
    """The text of a raw row's column, without spaces around it.

    Raises:
        InvalidInput: no such column, no text, or nothing but spaces.
    """
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        message = f"{column!r} holds {value!r:.40}; a text is needed."
        raise InvalidInput(message)
    return value.strip()


def texts_of(row: Row, column: str) -> list[str]:
    """The texts of a raw row's list, without spaces around them, in order.

    Raises:
        InvalidInput: no such column, or no list of texts.
    """
    values = row.get(column)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        message = f"{column!r} holds {values!r:.40}; a list of texts is needed."
        raise InvalidInput(message)
    return [value.strip() for value in values]


def part_of(row: Row, column: str) -> Row:
    """The named values that stand in one column of a raw row.

    Raises:
        InvalidInput: no such column, or one value.
    """
    value = row.get(column)
    if not isinstance(value, dict):
        message = f"{column!r} holds {value!r:.40}; values with names are needed."
        raise InvalidInput(message)
    return value


def question_of(
    asking: PromptOptions,
    form: Form,
    question: str,
    references: Sequence[str],
    *,
    solved: Sequence[tuple[str, str]] = (),
    stratum: str = "",
) -> Example:
    """A question with its accepted answers, after those that are solved; empty and repeated answers are left out."""
    return Example(
        id=asking.id,
        prompt=_prompt_of(form, asking.kind, question, solved),
        references=tuple(dict.fromkeys(filter(None, references))),
        question=question,
        stratum=stratum,
    )


def summary_of(row: Row, asking: PromptOptions, form: Form, *, source: str, summary: str) -> Example:
    """A text to be summed up, from the columns `source` and `summary`; the paper judges against the text."""
    document = text_of(row, source)
    prompt = _prompt_of(form, asking.kind, document)
    return Example(
        id=asking.id,
        prompt=prompt,
        references=(text_of(row, summary),),
        source=document,
        question=prompt,
    )


def translation_of(row: Row, asking: PromptOptions, form: Form, *, source: str) -> Example:
    """A sentence to be translated into English from the language `source`."""
    pair = part_of(row, "translation")
    sentence = text_of(pair, source)
    prompt = _prompt_of(form, asking.kind, sentence)
    return Example(id=asking.id, prompt=prompt, references=(text_of(pair, "en"),), source=sentence, question=prompt)


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
        message = f"The paper's data sets need the datasets library: {EXTRAS_COMMAND}"
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
    from rauq.checkpoints.refusals.failures import hub_failure

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

_Numbered = tuple[int, Row]


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
    paper_set: PaperSet, rows: Sequence[_Numbered], path: Path | None, seed: int
) -> tuple[Sequence[_Numbered], list[Row]]:
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


def _expanded(paper_set: PaperSet, rows: Iterable[_Numbered]) -> tuple[list[_Numbered], list[Rejected]]:
    expanded, rejected = [], []
    for number, row in rows:
        try:
            expanded += [(number, part) for part in paper_set.expand(row)]
        except InvalidInput as reason:
            rejected.append(Rejected(number, str(reason)))
    return expanded, rejected


def _examples(
    paper_set: PaperSet, rows: Iterable[_Numbered], kind: Kind, solved: Mapping[object, Sequence[Row]]
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
