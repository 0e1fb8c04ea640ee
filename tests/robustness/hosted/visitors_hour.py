"""The crowds of a hosted app, of which the one that comes at random comes for an hour."""

from analysis.evidence.record import Record
from tests.robustness.hosted.visitors import about, crowds, record, visited

SECONDS = 3600.0


def measure() -> Record:
    """The crowds for an hour."""
    found = visited(crowds(SECONDS))
    title = "Visitors of a hosted app, with smollm2, for an hour"
    return record("visitors_hour", found, title=title, about=about(SECONDS))
