"""The first pages of sessions that have just begun: how many are to be drawn, and what they take of the server."""

from dataclasses import dataclass

PAGES_AT_ONCE = 2  # first pages that are drawn at once: those who are here already come first
_USUAL_PAGE = 0.05  # seconds of the server, until some are known
_OF_LAST_PAGE, _MOST_CHANGE = 0.2, 3.0  # as of the pace of turns, see `queueing.pace`


@dataclass(eq=False)
class FirstPages:
    """How many sessions have asked for their first page and not got all of it, and the server's seconds for one.

    `spent`: the seconds of all that were drawn so far.
    """

    coming: int = 0
    each: float = _USUAL_PAGE
    spent: float = 0.0

    @property
    def seconds(self) -> float:
        """The seconds of the server until all are drawn."""
        return self.coming * self.each

    def note(self, seconds: float) -> None:
        """Note how long a page took, of several that are drawn at once while others come.

        One page changes little: the first one of a process imports what the others need.
        """
        took = seconds / min(PAGES_AT_ONCE, max(1, self.coming))
        self.spent += took
        change = min(max(took / self.each, 1 / _MOST_CHANGE), _MOST_CHANGE)
        self.each *= change**_OF_LAST_PAGE
