"""Checks of numbers and text from a caller, and the interfaces for progress and for cancelling."""

from collections.abc import Callable
from numbers import Real
from typing import Protocol

from rauq.errors import InvalidInput


def is_number(given: object) -> bool:
    """Whether something is a real number, of whatever type."""
    return isinstance(given, Real)


def is_whole(given: object) -> bool:
    """Whether something is a whole number, of whatever type."""
    return isinstance(given, Real) and given % 1 == 0


def check_unicode(text: str) -> None:
    """Refuse lone surrogates, which no tokenizer can encode.

    Raises:
        InvalidInput: the text holds one.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"The text is not valid Unicode at character {error.start} (a lone surrogate). Remove that character."
        raise InvalidInput(message) from error


OnProgress = Callable[[int, int], object]  # bytes done, bytes in all


class Cancel(Protocol):
    """Anything that says whether the caller has cancelled, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...
