"""A DataFrame as a data set, by the checks that files of the user pass."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.datasets.example import DataSet
from analysis.datasets.names import not_empty
from analysis.datasets.own_files import Columns, examples_from, guess_columns
from analysis.datasets.table import MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput


def data_set(
    frame: pd.DataFrame, columns: Columns | None = None, *, name: str = "data frame", quality: str | None = None
) -> DataSet:
    """The rows of a DataFrame as examples; `rejected` has those that cannot be used, with the reason.

    `columns` says which columns hold the prompt, the references and so on; by default their names tell. A missing value
    is an empty cell, and whole numbers that pandas holds as floats, since some are missing, are whole numbers.
    `quality`: the id of a measure; by default "given" where a column holds it, else the one that fits the references.

    Raises:
        InvalidInput: no DataFrame, none of whose rows can be used, or a column that it does not have.
    """
    table = _table(frame, name)
    return not_empty(examples_from(table, columns or guess_columns(table), quality=quality))


def _table(frame: pd.DataFrame, name: str) -> Table:
    if not isinstance(frame, pd.DataFrame):
        message = f"Got a {type(frame).__name__}; give a pandas DataFrame with a row for each prompt."
        raise InvalidInput(message)
    columns = [_cells(frame.iloc[:MOST_ROWS, place]) for place in range(frame.shape[1])]
    rows = dict(enumerate(zip(*columns, strict=True), 1))
    return make_table(name, list(frame.columns), rows, notes=cut_note(max(0, len(frame) - MOST_ROWS), rows=MOST_ROWS))


def _cells(column: pd.Series) -> list[Any]:
    """The cells of a column, None where one is missing; pandas makes floats of whole numbers if some are missing."""
    there = zip(column.tolist(), column.notna().tolist(), strict=True)
    cells = [_plain(cell) if is_there else None for cell, is_there in there]
    if all(cell is None or (isinstance(cell, float) and cell.is_integer()) for cell in cells):
        return [None if cell is None else int(cell) for cell in cells]
    return cells


def _plain(cell: Any) -> Any:  # noqa: ANN401 - a cell of the user's frame
    """The cell without numpy's types, which a list read from Parquet has."""
    return cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
