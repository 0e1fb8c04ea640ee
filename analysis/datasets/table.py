"""A file's rows as they were read: their encoding, their cells, and what was left out."""

import codecs
import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from analysis.datasets.example import Rejected
from rauq.errors import InvalidInput

MOST_ROWS = 100_000
MOST_COLUMNS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Every row that could be read, every one that could not, and notes on what was done on the way.

    `rows`: values as in the file, None where a row has none; the index is the row's number, counted from 1 below the
    header, in JSONL the line's number.
    """

    name: str
    rows: pd.DataFrame
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.rows.columns)


def make_table(
    name: str,
    columns: Sequence[str],
    rows: Mapping[int, Sequence[Any]],
    *,
    rejected: Sequence[Rejected] = (),
    notes: Sequence[str] = (),
) -> Table:
    """A table of checked columns and at least one row; `rows` by their numbers.

    Raises:
        InvalidInput: no row, no column, one that stands twice or whose name is no text, or more than 200 columns.
    """
    checked = _checked(name, columns)
    if not rows:
        raise InvalidInput(_why_empty(name, rejected))
    if not checked:
        message = f"{name} has only empty rows. Give each row at least a prompt."
        raise InvalidInput(message)
    frame = pd.DataFrame(list(rows.values()), columns=checked, index=list(rows), dtype=object)
    return Table(name=name, rows=frame, rejected=tuple(rejected), notes=tuple(notes))


def cut_note(left_out: int, *, rows: int) -> tuple[str, ...]:
    """What is said about rows beyond the first `rows`; nothing where there are none."""
    if not left_out:
        return ()
    return (f"The first {rows:,} rows were read; {left_out:,} more were left out. Split the file to use them.",)


def _checked(name: str, columns: Sequence[str]) -> list[str]:
    # A header without a name is what tables written with their index have.
    named = [
        text(column, f"header of column {place}").strip() or f"column {place}"
        for place, column in enumerate(columns, 1)
    ]
    if len(named) > MOST_COLUMNS:
        message = f"{name} has {len(named):,} columns; at most {MOST_COLUMNS} are read. Remove unneeded ones."
        raise InvalidInput(message)
    if twice := [column for column, count in Counter(named).items() if count > 1]:
        message = f"{name} has the column {twice[0]!r} more than once. Give every column a unique name."
        raise InvalidInput(message)
    return named


def _why_empty(name: str, rejected: Sequence[Rejected]) -> str:
    if rejected:
        first = rejected[0]
        return f"No row of {name} can be read. Row {first.row}: {first.reason}"
    return f"{name} has no rows. Give a file with a header and at least one row below it."


_BLOCK = 1 << 20
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WINDOWS = "cp1252"


def encoding_of(content: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Python's name of the encoding, and a note where it was guessed.

    A byte order mark decides; else UTF-8, and where that fails Windows-1252, which Excel writes.

    Raises:
        InvalidInput: none of them, or zero bytes, which no table has.
    """
    marked = next((encoding for mark, encoding in _BOMS if content.startswith(mark)), None)
    encodings = (marked,) if marked else ("utf-8", _WINDOWS)
    found = next((encoding for encoding in encodings if _decodes(content, encoding)), None)
    if found is None or (not marked and b"\0" in content[:_BLOCK]):
        message = (
            f"{name} is not text in UTF-8, UTF-16 with a byte order mark, or Windows-1252. "
            "Save it again as UTF-8, or give Parquet."
        )
        raise InvalidInput(message)
    if found == _WINDOWS:
        return found, ("The file is not UTF-8; it was read as Windows-1252. Check letters such as é in the preview.",)
    return found, ()


def lines_of(content: bytes, encoding: str) -> Iterator[str]:
    """The lines of a text file, with the line breaks that they end in."""
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")


def start_of(content: bytes, encoding: str) -> str:
    """The first characters of a text file, without the one that may be cut in two."""
    return codecs.getincrementaldecoder(encoding)().decode(content[:4096])


def _decodes(content: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(content), _BLOCK):
            decoder.decode(content[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


LONGEST_TEXT = 100_000  # characters

_RIGHT = {"true", "1", "1.0", "yes", "right", "correct"}
_WRONG = {"false", "0", "0.0", "no", "wrong", "incorrect"}
_SCALARS = str | bool | int | float | Decimal


@dataclass(frozen=True)
class Unusable:
    """A cell that no row can use; `why` follows the name of its column."""

    why: str


def text(cell: Any, column: str) -> str:  # noqa: ANN401 - a cell of a stranger's file
    """The cell as text, numbers as they are written; "" where there is none."""
    if cell is None:
        return ""
    if why := _fault(cell, LONGEST_TEXT):
        message = f"{column!r} {why}"
        raise InvalidInput(message)
    return str(cell)


def plain(cell: Any, longest: int) -> Any:  # noqa: ANN401 - a cell of a stranger's file
    """The cell as JSON can hold it: a text, a number, a list of them, none, or, if no row can use it, why.

    A text or the texts of a list have at most `longest` characters together.
    """
    if isinstance(cell, list | tuple):
        entries = [
            plain(one, longest) if not isinstance(one, list | tuple) else _unusable(one, longest) for one in cell
        ]
        characters = sum(len(str(entry)) + 1 for entry in entries)
        return entries if characters <= longest else Unusable(_too_long(characters, longest))
    if cell is None or isinstance(cell, Unusable):
        return cell
    if _fault(cell, longest):
        return _unusable(cell, longest)
    return str(cell) if isinstance(cell, Decimal) else cell


def _unusable(cell: Any, longest: int) -> Unusable:  # noqa: ANN401
    return Unusable(_fault(cell, longest))


def _fault(cell: Any, longest: int) -> str:  # noqa: ANN401
    """Why a cell is not a text or a number that a row can use; empty if it is."""
    if isinstance(cell, Unusable):
        return cell.why
    if not isinstance(cell, _SCALARS) or cell != cell:  # noqa: PLR0124 - nan is no number, and "nan" no answer
        return f"holds {_kind(cell)}; a text or a number is needed."
    words = str(cell)
    if len(words) > longest:
        return _too_long(len(words), longest)
    if "\0" in words:
        return "contains a zero byte."
    if not words.isascii() and any("\ud800" <= letter <= "\udfff" for letter in words):
        return "is not valid Unicode: it contains a lone surrogate."
    return ""


def _too_long(characters: int, longest: int) -> str:
    return f"has {characters:,} characters; at most {longest:,} are allowed."


def filled(cell: Any, column: str) -> str:  # noqa: ANN401
    """The cell as text that is more than spaces."""
    words = text(cell, column)
    if not words.strip():
        message = f"{column!r} is empty."
        raise InvalidInput(message)
    return words


def texts(cell: Any, column: str) -> tuple[str, ...]:  # noqa: ANN401
    """Every text of a list, of a JSON list of texts in the cell, or the one text of it; none empty, none twice."""
    values = cell if isinstance(cell, list | tuple) else _json_list(cell)
    each = (text(value, column) for value in ([cell] if values is None else values))
    return tuple(dict.fromkeys(words for words in each if words.strip()))


def number(cell: Any, column: str) -> float | None:  # noqa: ANN401
    """A finite number; None where the cell is empty."""
    words = text(cell, column).strip()
    if not words:
        return None
    try:
        value = float(cell) if isinstance(cell, bool) else float(words.replace("_", "?"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"{column!r} is {words[:40]!r}; a finite number is needed, with a point before decimals."
        raise InvalidInput(message)
    return value


def correct_or_incorrect(cell: Any, column: str) -> float | None:  # noqa: ANN401
    """1 for true, 1, yes, right or correct, 0 for their opposites, in any case; None where the cell is empty."""
    words = text(cell, column).strip().lower()
    if not words:
        return None
    if words not in _RIGHT | _WRONG:
        message = f"{column!r} is {words[:40]!r}; true or false, 1 or 0, yes or no, right or wrong is needed."
        raise InvalidInput(message)
    return float(words in _RIGHT)


def _json_list(cell: Any) -> list[Any] | None:  # noqa: ANN401
    if not isinstance(cell, str) or not cell.lstrip().startswith("["):
        return None
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):
        return None  # a text that begins with a bracket
    return values if isinstance(values, list) and all(isinstance(value, str) for value in values) else None


def _kind(cell: object) -> str:
    kinds = ((dict, "an object"), (list, "a list"), (bytes, "raw bytes"), (float, "nan"))
    return next((name for kind, name in kinds if isinstance(cell, kind)), f"a {type(cell).__name__}")
