"""JSONL, one object a line, and JSON files that hold one list of objects."""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from analysis.datasets.encoding import encoding_of, lines_of, start_of
from analysis.datasets.example import Rejected
from analysis.datasets.table import MOST_COLUMNS, MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput
from rauq.labels import size

LARGEST_LIST = 64 * 2**20  # bytes: unlike lines, a list is parsed as a whole


def read_jsonl(content: bytes, name: str) -> Table:
    """One row a line that holds an object; the columns are the keys of all of them, in order of first use.

    Raises:
        InvalidInput: no line holds an object, or an encoding that is not known.
    """
    encoding, notes = encoding_of(content, name)
    lines = ((number, line) for number, line in enumerate(lines_of(content, encoding), 1) if line.strip())
    first = ((number, _parsed(line)) for number, line in islice(lines, MOST_ROWS))
    objects, rejected = _sorted_out(first)
    return _table(name, objects, rejected=rejected, notes=(*notes, *cut_note(sum(1 for _ in lines))))


def read_json(content: bytes, name: str) -> Table:
    """One row an object of the list; a file without a list is read as JSONL.

    Raises:
        InvalidInput: no list of objects, or one of more than 64 MiB.
    """
    encoding, notes = encoding_of(content, name)
    if not start_of(content, encoding).lstrip().startswith("["):
        return read_jsonl(content, name)
    if len(content) > LARGEST_LIST:
        message = f"{name} holds {size(len(content))} in one list; at most {size(LARGEST_LIST)}. Save it as JSONL."
        raise InvalidInput(message)
    values = _parsed(content.decode(encoding))
    if isinstance(values, str):
        message = f"{name} is no list of objects: {values}"
        raise InvalidInput(message)
    objects, rejected = _sorted_out(enumerate(values[:MOST_ROWS], 1))
    return _table(name, objects, rejected=rejected, notes=(*notes, *cut_note(len(values[MOST_ROWS:]))))


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the text holds
    """The value of a JSON text; a string stands for the reason why there is none, since no text is a row."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        return "its values are nested too deeply."
    except ValueError as error:  # no JSON, a key that stands twice, a number too long
        return f"it is no JSON ({error})."
    return "it is a text, not an object." if isinstance(value, str) else value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) < len(pairs):
        message = "a key stands twice in one object"
        raise ValueError(message)
    return values


def _sorted_out(values: Iterable[tuple[int, Any]]) -> tuple[dict[int, dict[str, Any]], list[Rejected]]:
    objects, rejected = {}, []
    for number, value in values:
        if isinstance(value, dict):
            objects[number] = value
        else:
            reason = value if isinstance(value, str) else "it is no object of names and values."
            rejected.append(Rejected(number, reason))
    return objects, rejected


def _table(
    name: str, objects: Mapping[int, Mapping[str, Any]], *, rejected: list[Rejected], notes: tuple[str, ...]
) -> Table:
    columns: dict[str, None] = {}
    for value in objects.values():
        columns.update(dict.fromkeys(value))
        if len(columns) > MOST_COLUMNS:
            break  # the table refuses them; rows of that width would only fill memory first
    width = () if len(columns) > MOST_COLUMNS else tuple(columns)
    rows = {number: [value.get(column) for column in width] for number, value in objects.items()}
    return make_table(name, tuple(columns), rows, rejected=rejected, notes=notes)
