"""What the fields of a detector may hold: its file may come from anyone."""

import reprlib
from collections.abc import Iterable, Sized

from rauq.errors import InvalidInput
from rauq.labels import shortened


def require(*, fits: bool, name: str, got: object, allowed: str) -> None:
    """Refuse a value that is not allowed.

    Raises:
        InvalidInput: it does not fit; the message says what was got and what is allowed.
    """
    if not fits:
        message = f"{name} is {shortened(reprlib.repr(got), longest=80)}; give {allowed}."
        raise InvalidInput(message)


_LARGEST = 1e150  # the quotient and the product of two such numbers are finite


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


def is_whole(value: object, low: int, high: int) -> bool:
    """Whether a value is a whole number from `low` to `high`, both included."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_name(value: object, longest: int) -> bool:
    """Whether a value is a text of at most `longest` characters that can be encoded."""
    return isinstance(value, str) and len(value) <= longest and value == value.encode("utf-8", "replace").decode()


def are_pairs(values: object, most: int) -> bool:
    """Whether values are at least one and at most `most` pairs."""
    return (
        isinstance(values, Iterable)
        and isinstance(values, Sized)
        and 0 < len(values) <= most
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values)
    )
