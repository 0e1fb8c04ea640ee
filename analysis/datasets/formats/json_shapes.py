"""Where the rows of one JSON value are: as pandas, data sets and viewers write them."""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from analysis.datasets.table import Unusable
from rauq.errors import InvalidInput

Rows = tuple[list[Any], tuple[str, ...]]  # the rows, and notes

_TURN = ({"role", "content"}, {"from", "value"})  # keys of a message in a conversation
_OF_A_ROW = {"prompt", "question", "query", "instruction", "input", "messages", "conversation", "conversations"}


def rows_of(value: Any, name: str) -> Rows:  # noqa: ANN401 - whatever a file holds
    """The rows of the one value of a file, each an object if it can be used, and how they were found.

    Raises:
        InvalidInput: they may be meant in two ways.
    """
    if isinstance(value, list):
        return _rows_without_names(value) if _is_grid(value) else (value, ())
    if not isinstance(value, dict):
        return [value], ()
    for find in (_split, _described, _viewed, _columns_or_rows, _one_list, _lists):
        if (found := find(value, name)) is not None:
            return found
    return [value], ()


def _is_grid(value: list[Any]) -> bool:
    """Whether all are lists of one length, as pandas writes values alone."""
    return all(isinstance(row, list) for row in value) and len({len(row) for row in value}) == 1 and bool(value[0])


def _rows_without_names(value: list[list[Any]]) -> Rows:
    rows = [{f"column {place}": cell for place, cell in enumerate(row, 1)} for row in value]
    return rows, ("The file names no columns; they are numbered, and its first row is a row.",)


def _split(value: Mapping[str, Any], _name: str) -> Rows | None:
    """`{"columns": [...], "data": [[...], ...]}`, with or without "index"."""
    if not {"columns", "data"} <= value.keys() <= {"columns", "index", "data"}:
        return None
    columns, data = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(data, list) or not all(isinstance(one, list) for one in data):
        return None
    return [_named(columns, row) for row in data], ()


def _named(columns: list[Any], row: list[Any]) -> Any:  # noqa: ANN401
    """The row by the columns' names; a reason where it has more or fewer cells."""
    if len(row) == len(columns):
        return dict(zip(map(str, columns), row, strict=True))
    return f"it has {len(row)} cells, but the file names {len(columns)} columns."


def _described(value: Mapping[str, Any], _name: str) -> Rows | None:
    """`{"schema": {"fields": [...]}, "data": [{...}, ...]}`: without the numbers of rows, called "index"."""
    schema = value.get("schema")
    rows = value.get("data")
    if not isinstance(schema, dict) or "fields" not in schema or not _is_list_of_objects(rows):
        return None
    left_out = {"index"} if schema.get("primaryKey") == ["index"] else set()
    return [{key: cell for key, cell in row.items() if key not in left_out} for row in rows], ()


def _viewed(value: Mapping[str, Any], _name: str) -> Rows | None:
    """`{"rows": [{"row": {...}, "truncated_cells": [...]}, ...]}`, as the viewer of Hugging Face answers."""
    rows = value.get("rows")
    if not _is_list_of_objects(rows) or not all(isinstance(row.get("row"), dict) for row in rows):
        return None
    said = "The file is a response of the Hugging Face data set viewer."
    return [_uncut(row["row"], row.get("truncated_cells")) for row in rows], (said,)


def _uncut(row: Mapping[str, Any], cut: Any) -> dict[str, Any]:  # noqa: ANN401
    cut = cut if isinstance(cut, list) else []
    why = "was cut short by the viewer that wrote the file. Download the whole data set."
    return {key: Unusable(why) if key in cut else cell for key, cell in row.items()}


def _columns_or_rows(value: Mapping[str, Any], name: str) -> Rows | None:
    """`{"prompt": {"0": ..., "1": ...}, ...}`, by column, or `{"0": {"prompt": ..., ...}, ...}`, by row."""
    inner = list(value.values())
    if not inner or not all(isinstance(one, dict) and one for one in inner) or any(map(_is_turn, inner)):
        return None
    labels = dict.fromkeys(label for one in inner for label in one)
    outer_numbers, inner_numbers = all(map(_is_number, value)), all(map(_is_number, labels))
    if outer_numbers != inner_numbers:
        return _by_column(value, labels) if inner_numbers else _by_row(value, numbered=True)
    if any(one.keys() != inner[0].keys() for one in inner):
        return _by_row(value, numbered=outer_numbers)
    message = (
        f"{name} is one object of objects, which may be rows or columns. "
        "Save a list of objects, one for each row, or JSONL; with pandas: to_json(orient='records')."
    )
    raise InvalidInput(message)


def _by_column(value: Mapping[str, Any], labels: Mapping[str, None]) -> Rows:
    rows = [{column: cells.get(label) for column, cells in value.items()} for label in labels]
    return rows, ("The file is written by column, as pandas does; the outer keys are the columns.",)


def _by_row(value: Mapping[str, Any], *, numbered: bool) -> Rows:
    if numbered:
        return list(value.values()), ("The file is written by row; the numbers of the rows are left out.",)
    rows = [row if "key" in row else {**row, "key": key} for key, row in value.items()]
    return rows, ("The file is written by row; the names of the rows are the column 'key'.",)


def _is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def _one_list(value: Mapping[str, Any], name: str) -> Rows | None:
    """`{"data": [{...}, ...], ...}`: the one list of objects, unless the object is a row itself."""
    lists = [key for key, one in value.items() if _is_list_of_objects(one) and not any(map(_is_turn, one))]
    if not lists or _OF_A_ROW & {key.lower() for key in value}:
        return None
    if len(lists) > 1:
        message = f"{name} has several lists of objects: {', '.join(map(repr, lists))}. Save the one you mean as JSONL."
        raise InvalidInput(message)
    others = ", ".join(repr(key) for key in value if key != lists[0])
    beside = f"; what stands beside it is left out: {others}" if others else ""
    return value[lists[0]], (f"The rows are those of {lists[0]!r}{beside}.",)


def _lists(value: Mapping[str, Any], _name: str) -> Rows | None:
    """`{"prompt": ["...", ...], "answer": [...]}`: a list for each column, all of one length."""
    lists = list(value.values())
    if not lists or not all(isinstance(one, list) for one in lists) or {len(one) for one in lists} != {len(lists[0])}:
        return None
    if any(_is_list_of_objects(one) for one in lists):
        return None
    return [dict(zip(value, cells, strict=True)) for cells in zip(*lists, strict=True)], (
        "The file is written by column, as a list for each.",
    )


def _is_list_of_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:  # noqa: ANN401
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _is_turn(value: Mapping[str, Any]) -> bool:
    return any(keys <= value.keys() for keys in _TURN)
