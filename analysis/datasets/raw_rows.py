"""Raw rows of the paper's data sets through the `datasets` library: from the hub, or from a copy on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from analysis.datasets.paper_set import PaperSet, Row
from rauq.errors import DataSetNotFound, InvalidInput, MissingPackage, RauqError

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
        message = "The paper's data sets need the datasets library. pip install -r requirements-extra.txt"
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
        message = f"{path} is no folder. {_how_to_bring(paper_set)}"
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
    from rauq.load_errors import hub_failure

    where = f"the hub, where it is {paper_set.hub_id}" if path is None else str(path)
    if path is None and (found := hub_failure(error, thing="data set")) is not None:
        return f"{where}: {found.what}. {found.todo}"
    return f"{where} ({type(error).__name__}: {' '.join(str(error).split())[:200]})."


def _how_to_bring(paper_set: PaperSet) -> str:
    splits = " and ".join(dict.fromkeys(filter(None, (paper_set.split, paper_set.few_shot_split))))
    config = f", config {paper_set.config}" if paper_set.config else ""
    return (
        f"Where there is a network, load {paper_set.hub_id}{config} with the datasets library, save_to_disk its "
        f"{splits} split{'s' if ' and ' in splits else ''}, and give that folder as a copy, in a shell as "
        f"{paper_set.id}=FOLDER."
    )
