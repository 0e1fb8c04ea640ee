"""Every name under which a data set can be asked for: embedded sets, the paper's sets, copies and files."""

import os
from dataclasses import replace
from pathlib import Path

from analysis.datasets.embedded import EMBEDDED_SETS, embedded_set
from analysis.datasets.example import DataSet
from analysis.datasets.loading import load_paper_set
from analysis.datasets.own_files import Columns, examples_from, guess_columns
from analysis.datasets.paper.twelve import PAPER_SETS
from analysis.datasets.reading import read_file
from analysis.datasets.sampling import spread
from rauq.errors import DataSetNotFound, InvalidInput
from rauq.trace import Kind

PER_GROUP = f"So many of each group are chosen of {', '.join(EMBEDDED_SETS)} alone. Give a limit instead."


def load(
    name: str,
    *,
    kind: Kind,
    limit: int | None = None,
    per_group: int | None = None,
    columns: Columns | None = None,
    seed: int = 0,
) -> DataSet:
    """The data set of a name: "atlas" or a family, "sciq", "sciq=FOLDER" for a copy, or the path of a file.

    `kind` words the prompts of the paper's sets. `limit` examples are chosen by the seed; `per_group` holds for
    embedded sets. `columns` are those of a file; without them they are guessed from their names.

    Raises:
        DataSetNotFound: no such name or file, or no network.
        InvalidInput: a file, a column or a limit that cannot be used, `per_group` among them, or no row that can.
        MissingPackage: a set of the paper needs the `datasets` library.
    """
    if name in EMBEDDED_SETS:
        return embedded_set(name, limit=limit, per_group=per_group, seed=seed)
    if per_group is not None:
        raise InvalidInput(PER_GROUP)
    paper_name, _, folder = name.partition("=")
    if paper_name in PAPER_SETS:
        path = Path(folder) if folder else None
        return _not_empty(load_paper_set(PAPER_SETS[paper_name], kind=kind, path=path, limit=limit, seed=seed))
    data = _own_file(name, columns)
    return _not_empty(replace(data, examples=spread(data.examples, limit, seed=seed)))


def _own_file(name: str, columns: Columns | None) -> DataSet:
    if not os.path.isfile(name):  # noqa: PTH113 - a Path raises where the text is no possible path
        message = (
            f"{name!r} is no file and no known data set. Give the path of a CSV, JSONL or Parquet file, one of "
            f"{', '.join(EMBEDDED_SETS)}, or one of the paper's: {', '.join(PAPER_SETS)}."
        )
        raise DataSetNotFound(message)
    table = read_file(Path(name))
    return examples_from(table, columns or guess_columns(table))


def _not_empty(data: DataSet) -> DataSet:
    if not data.examples:
        first = data.rejected[0]
        message = f"No row of {data.name} can be used. Row {first.row}: {first.reason}"
        raise InvalidInput(message)
    return data
