"""What the linked views report of the answer that they draw, besides what is selected in them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Something was asked for: `answer` names the answer that the browser had drawn."""

    answer: str


@dataclass(frozen=True, kw_only=True)
class AtToken(Reported):
    """A token is to be replaced on the page Compare."""

    token: int


@dataclass(frozen=True, kw_only=True)
class Replaced(AtToken):
    """The answer is to continue with an alternative, its place among those of the token."""

    choice: int


@dataclass(frozen=True, kw_only=True)
class Judged(Reported):
    """The answer was called correct or incorrect, or that was taken back."""

    verdict: Literal["correct", "incorrect"] | None


@dataclass(frozen=True, kw_only=True)
class Corrected(Reported):
    """The correct answer was typed."""

    correct: str


@dataclass(frozen=True, kw_only=True)
class OtherAnswer(Reported):
    """The continuation is to stop, to be closed, or to be opened on the page Compare."""

    act: Literal["stop", "close", "compare"]
