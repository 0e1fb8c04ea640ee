"""JSON, JSON Lines, and several objects one after another, read as a table."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from analysis.datasets.example import Rejected
from analysis.datasets.formats.encodings import encoding_of, lines_of
from analysis.datasets.formats.json_shapes import rows_of
from analysis.datasets.table import MOST_COLUMNS, MOST_ROWS, Table, cut_note, left_in, make_table
from rauq.errors import InvalidInput
from rauq.labels import size

MOST_VALUES = 1_000_000  # of one line
LARGEST_DOCUMENT = 64 * 2**20  # bytes: unlike lines, a document is parsed as a whole
MOST_IN_DOCUMENT = 5_000_000  # values

Read = tuple[dict[int, dict[str, Any]], list[Rejected], tuple[str, ...]]  # objects by number, rejected, notes


def read_json(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows: one for each line of JSON Lines, for each object of several, or for each in a document.

    Columns are the keys of all rows, in order of first use.

    Raises:
        InvalidInput: no row, not JSON, a document of more than 64 MiB or about 5,000,000 values, one that may be meant
            in two ways, or an encoding that is not known.
    """
    encoding, notes = encoding_of(content, name)
    read = _read_lines if _has_lines(content, encoding) else _read_document
    objects, rejected, said = read(content, encoding, name, rows)
    return _table(name, objects, rejected=rejected, notes=(*notes, *said))


def _has_lines(content: bytes, encoding: str) -> bool:
    """Whether there are several lines, and the first does not end within a list or an object."""
    lines = [line.strip() for line in islice(filter(str.strip, lines_of(content, encoding)), 2)]
    if len(lines) < 2:
        return False
    return lines[0].endswith("]") if lines[0].startswith("[") else not lines[0].endswith(_GOES_ON)


_GOES_ON = ("{", "[", ",", ":")


def _read_lines(content: bytes, encoding: str, _name: str, rows: int) -> Read:
    lines = ((number, line) for number, line in enumerate(lines_of(content, encoding), 1) if line.strip())
    objects, rejected = _split_values((number, _parsed(line)) for number, line in islice(lines, rows))
    return objects, rejected, cut_note(left_in(lines), rows=rows)


def _read_document(content: bytes, encoding: str, name: str, rows: int) -> Read:
    if len(content) > LARGEST_DOCUMENT:
        message = (
            f"{name} holds {size(len(content))} in one document; at most {size(LARGEST_DOCUMENT)}. Save it as JSONL."
        )
        raise InvalidInput(message)
    text = content.decode(encoding)
    values, fault = _values(text)
    if not values or (fault and (len(values) < 2 or isinstance(values[0], list))):
        message = f"{name} cannot be read: {fault or 'it is empty.'}"
        raise InvalidInput(message)
    is_row = isinstance(values[0], dict) and not name.lower().endswith(".json")  # one of JSON Lines
    found, said = rows_of(values[0], name) if len(values) == 1 and not is_row else (values, ())
    objects, rejected = _split_values(enumerate(found[:rows], 1))
    if fault and len(found) < rows:
        rejected.append(Rejected(len(found) + 1, f"{fault} Nothing from there on can be read."))
    return objects, rejected, (*said, *cut_note(max(0, len(found) - rows), rows=rows))


def _values(text: str) -> tuple[list[Any], str]:
    """The values that follow each other in a text, and why it ends early; empty where it does not."""
    if why := _too_many(text, MOST_IN_DOCUMENT):
        return [], why
    decoder, place = json.JSONDecoder(object_pairs_hook=_once), 0
    values: list[Any] = []
    try:
        while begin := _BEGIN.search(text, place):
            value, place = decoder.raw_decode(text, begin.start())
            values.append(value)
    except RecursionError:
        return values, "its values are nested too deeply."
    except ValueError as error:  # no JSON, a key that stands twice, a number too long
        return values, _what_is_wrong(error)
    return values, ""


_BEGIN = re.compile(r"[^ \t\r\n]")


def _parsed(line: str) -> Any:  # noqa: ANN401 - whatever the line holds
    """The value of a line; a string stands for the reason why there is none, since no text is a row."""
    if why := _too_many(line, MOST_VALUES):
        return why
    try:
        value = json.loads(line, object_pairs_hook=_once)
    except RecursionError:
        return "its values are nested too deeply."
    except ValueError as error:
        return _what_is_wrong(error, is_line=True)
    return "it is a text, not an object." if isinstance(value, str) else value


def _too_many(text: str, most: int) -> str:
    """Why a text is not parsed: values are counted by the marks before each of them, since lists take 20 times that."""
    if (values := sum(map(text.count, ",[{"))) <= most:
        return ""
    return f"it holds about {values:,} values; at most {most:,} can be read at once. Save shorter lines, as JSONL."


def _what_is_wrong(error: ValueError, *, is_line: bool = False) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"it is not valid JSON ({error})."
    place = f"column {error.pos + 1}" if is_line else f"line {error.lineno}, column {error.colno}"
    if _has_trailing_comma(error):
        return f"it is not valid JSON (a bracket follows a comma: {place}). Remove that comma."
    return f"it is not valid JSON ({error.msg}: {place}). Correct it there."


def _has_trailing_comma(error: json.JSONDecodeError) -> bool:
    """Whether a bracket closes after a comma; the error stands at either of them, by the version of Python."""
    before = error.doc[: error.pos + 1].rstrip().rstrip("]}").rstrip()
    return before.endswith(",") and error.doc[len(before) :].lstrip()[:1] in ("]", "}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) < len(pairs):
        message = "a key occurs twice in one object"
        raise ValueError(message)
    return values


def _split_values(values: Iterable[tuple[int, Any]]) -> tuple[dict[int, dict[str, Any]], list[Rejected]]:
    objects, rejected = {}, []
    for number, value in values:
        if isinstance(value, dict):
            objects[number] = value
        else:
            reason = value if isinstance(value, str) else "it is not an object of names and values."
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
