"""The crowds of a hosted app, of which the one that comes at random comes for an hour, about fifty at once."""

from analysis.evidence.record import Record
from tests.robustness.hosted.crowd import Passing
from tests.robustness.hosted.visitors import about, crowds, record, visited

HOUR = Passing(seconds=3600.0, each_minute=33.0, reading=(20.0, 60.0))


def measure() -> Record:
    """The crowds for an hour."""
    found = visited(crowds(HOUR))
    title = "Visitors of a hosted app, with smollm2, for an hour"
    return record("visitors_hour", found, title=title, about=about(HOUR))
