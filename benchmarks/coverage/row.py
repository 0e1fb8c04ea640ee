"""One line of the table of coverage."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Row:
    """How often an interval covered the truth, or a claim was made without an effect.

    Of `simulations` of a `case`, `shown` gave an interval or a verdict, of which `hits` covered the truth, or made a
    claim where `is_claim`. `bound`: the least coverage, or the largest share of claims; None where none is promised.
    """

    statement: str
    case: str
    nominal: float
    hits: int
    shown: int
    simulations: int
    bound: float | None
    is_claim: bool

    def with_more(self, other: "Row") -> "Row":
        """The row with further simulations of the same case."""
        return replace(
            self,
            hits=self.hits + other.hits,
            shown=self.shown + other.shown,
            simulations=self.simulations + other.simulations,
        )

    @property
    def share(self) -> float:
        """The hits among what was shown; nan where nothing was."""
        return self.hits / self.shown if self.shown else math.nan

    @property
    def is_met(self) -> bool:
        """Whether the share is within the bound, which there has to be."""
        return self.bound is not None and (self.share <= self.bound if self.is_claim else self.share >= self.bound)


Task = Callable[..., Iterable[Row]]
"""Rows of so many `simulations` by a `seed`; a process runs one task."""
