"""A log that nobody can fill: of each kind of failure one line a minute, with how many there were."""

import logging
import time
import traceback
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

REQUESTS = "rauq.requests"  # its lines are one for each request already
SECONDS = 60.0
_MOST_KINDS = 200  # a minute; more are one kind
_MOST_PLACES = 4  # that a line names of a traceback
_LONGEST = 500  # characters of a line


@dataclass(eq=False)
class Seldom:
    """A filter of a handler: it lets through the first record of a kind in each minute, as one line.

    Records are of one kind if they come from the same line of code with the same exception from the same place.
    """

    begun: dict[Hashable, float] = field(default_factory=dict)
    left_out: Counter[Hashable] = field(default_factory=Counter)

    def filter(self, record: logging.LogRecord) -> bool:
        """Make the record one line, and return whether it is let through."""
        now = time.monotonic()
        kind = self._kind(record)
        if now - self.begun.get(kind, -SECONDS) < SECONDS:
            self.left_out[kind] += 1
            return False
        self.begun = {known: when for known, when in self.begun.items() if now - when < SECONDS} | {kind: now}
        _make_line(record, left_out=self.left_out.pop(kind, 0))
        return True

    def _kind(self, record: logging.LogRecord) -> Hashable:
        kind = record.pathname, record.lineno, record.levelno, _raised(record)
        return kind if kind in self.begun or len(self.begun) < _MOST_KINDS else "another"


def _raised(record: logging.LogRecord) -> str:
    """The class of a record's exception and where it was raised, the last place first; empty without one.

    Its message may quote a visitor's text; that of the system does not.
    """
    kind, error, frames = record.exc_info or (None, None, None)
    if kind is None:
        return ""
    of_system = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    places = reversed(traceback.extract_tb(frames, limit=-_MOST_PLACES))
    where = ", called in ".join(f"{place.filename}:{place.lineno}" for place in places)
    return f"{kind.__name__}{of_system}{f', raised in {where}' if where else ''}"


def _make_line(record: logging.LogRecord, *, left_out: int) -> None:
    """Put the place of an exception in place of its traceback, and say how many of the kind were left out before."""
    said = _said(record).splitlines() or [""]
    raised, before = _raised(record), f"; {left_out:,} more like this before" if left_out else ""
    record.msg = f"{said[0][:_LONGEST]}{f' ({raised})' if raised else ''}{before}"
    record.args, record.exc_info, record.exc_text, record.stack_info = (), None, None, None


def _said(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the caller of the log must not see a library's mistake
        return str(record.msg)


def install() -> None:
    """Put the filter before all handlers of the log, those of libraries included, but for that of requests.

    Libraries add handlers later: this can be done again.
    """
    for handler in _handlers():
        if not any(isinstance(known, Seldom) for known in handler.filters):
            handler.addFilter(Seldom())


def _handlers() -> Iterator[logging.Handler]:
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name != REQUESTS]
    for logger in (logging.root, *known):
        yield from logger.handlers
    if logging.lastResort is not None:
        yield logging.lastResort
