"""What counts as a number where a caller may give anything."""

from numbers import Real


def is_number(given: object) -> bool:
    """Whether something is a real number, of whatever type."""
    return isinstance(given, Real)


def is_whole(given: object) -> bool:
    """Whether something is a whole number, of whatever type."""
    return isinstance(given, Real) and given % 1 == 0
