"""How often the corpus states a fact: a continuous scale from hundreds of times down to never."""

from random import Random

EDGES = ((0, "never seen"), (3, "seen 1-3"), (10, "seen 4-10"), (30, "seen 11-30"))
OFTEN = "seen 31+"


def scale(count: int, *, most: int, known: float = 0.85) -> list[int]:
    """Return the exposures of `count` facts in order of fame: log-uniform from `most` to 1, the last share never."""
    return [int(most ** (1 - rank / (known * count))) if rank < known * count else 0 for rank in range(count)]


def drawn(low: int, high: int, rng: Random) -> int:
    """Return a number of exposures between two, log-uniform."""
    return round(low * (high / low) ** rng.random())


def stratum(exposures: int) -> str:
    """Return the name of the stratum that a number of exposures falls in."""
    return next((name for edge, name in EDGES if exposures <= edge), OFTEN)
