"""What came of a fault."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Survived:
    """A fault that was brought about so many times, what came of it, and what was lost or went wrong, if anything."""

    fault: str
    times: int
    outcome: str
    losses: tuple[str, ...] = ()
