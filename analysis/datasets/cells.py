"""What one cell of a table says: a text, several texts, a number, right or wrong.

Each raises InvalidInput with the reason, beginning with the column's name, that becomes the rejected row's.
"""

import json
import math
from decimal import Decimal
from typing import Any

from rauq.errors import InvalidInput

LONGEST_TEXT = 100_000  # characters

_RIGHT = {"true", "1", "1.0", "yes", "right", "correct"}
_WRONG = {"false", "0", "0.0", "no", "wrong", "incorrect"}
_SCALARS = str | bool | int | float | Decimal


def text(cell: Any, column: str) -> str:  # noqa: ANN401 - a cell of a stranger's file
    """The cell as text, numbers as they are written; "" where there is none."""
    if cell is None:
        return ""
    if not isinstance(cell, _SCALARS) or cell != cell:  # noqa: PLR0124 - nan is no number, and "nan" no answer
        message = f"{column!r} holds {_kind(cell)}; a text or a number is needed."
        raise InvalidInput(message)
    words = str(cell)
    if len(words) > LONGEST_TEXT:
        message = f"{column!r} has {len(words):,} characters; at most {LONGEST_TEXT:,} are taken."
        raise InvalidInput(message)
    if "\0" in words:
        message = f"{column!r} holds a zero byte, which is no text."
        raise InvalidInput(message)
    if not words.isascii() and any("\ud800" <= letter <= "\udfff" for letter in words):
        message = f"{column!r} is not valid Unicode: it holds a lone surrogate."
        raise InvalidInput(message)
    return words


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


def right_or_wrong(cell: Any, column: str) -> float | None:  # noqa: ANN401
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
