"""What callers pass: settings of sampling, progress and cancelling; and checks of numbers and text."""

import math
from collections.abc import Callable
from dataclasses import dataclass
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


OnProgress = Callable[[int, int], object]  # how much is done, and how much there is
Act = Callable[[], object]  # something to do at a moment that another function knows


def nothing() -> None:
    """Do nothing."""


class Cancel(Protocol):
    """Anything that says whether the caller has cancelled, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is sampled; `None` in its place means greedy.

    The same `seed` gives the same answer. A trace has None if the seed alone does not reproduce its answer: for the
    second and later answers of `lm.sample`, and for answers that continue an `answer_prefix`.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 50
    seed: int | None = None

    def __post_init__(self) -> None:
        whole = is_whole(self.top_k) and is_whole(0 if self.seed is None else self.seed)
        numbers = whole and is_number(self.temperature) and is_number(self.top_p)
        ranges = numbers and 0 < self.temperature < math.inf and 0 < self.top_p <= 1
        if not (ranges and self.top_k >= 0 and 0 <= (self.seed or 0) < 2**64):
            message = (
                f"Got the temperature {self.temperature!r}, top-p {self.top_p!r}, top-k {self.top_k!r} and seed "
                f"{self.seed!r}. Allowed are a temperature above 0, a top-p above 0 and at most 1, and as whole "
                "numbers a top-k from 0 (which keeps all tokens) and a seed from 0 to below 2^64."
            )
            raise InvalidInput(message)
        for name, kind in (("temperature", float), ("top_p", float), ("top_k", int), ("seed", int)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, kind(value))
