"""What the operator of a host is told: counts as Prometheus reads them, and one line in the log for each request.

No number and no line has text of a visitor, unless the log is asked for prompts.
"""

import json
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
WAITS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # seconds: upper ends of the histogram

_log = logging.getLogger("rauq.requests")
_STATM = Path("/proc/self/statm")
_MOST_CHARACTERS = 2_000  # of a value in a line of the log


@dataclass(eq=False)
class Counts:
    """What happened since the server started; threads and the event loop write it.

    `answers` by outcome (done, stopped, failed, refused), `failures` by the class of the error, `requests` by HTTP
    status, generated `tokens`, and the seconds that answers waited until a model was theirs.
    """

    started: float = field(default_factory=time.time)
    answers: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    waits: list[int] = field(default_factory=lambda: [0] * (len(WAITS) + 1))
    waited: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, outcome: str, *, tokens: int, error: str = "") -> None:
        """Count an answer that has ended."""
        with self.lock:
            self.answers[outcome] += 1
            self.tokens += tokens
            if error:
                self.failures[error] += 1

    def request(self, status: int) -> None:
        """Count an HTTP request that was answered."""
        with self.lock:
            self.requests[str(status)] += 1

    def failure(self, error: str) -> None:
        """Count a page that failed."""
        with self.lock:
            self.failures[error] += 1

    def wait(self, seconds: float) -> None:
        """Count the wait of one answer."""
        with self.lock:
            self.waits[sum(seconds > end for end in WAITS)] += 1
            self.waited += seconds


@dataclass(frozen=True, kw_only=True)
class Now:
    """The state of the host at this moment; `stopping`: it takes no new work and is about to end."""

    sessions: int
    running: int
    waiting: int
    stopping: bool


def prometheus(counts: Counts, now: Now) -> str:
    """The text format of Prometheus, version 0.0.4."""
    with counts.lock:
        return "\n".join((*_gauges(counts, now), *_counters(counts), *_waits(counts), ""))


def _gauges(counts: Counts, now: Now) -> Iterator[str]:
    yield from _metric("rauq_sessions", "gauge", "Connected browser sessions.", {"": now.sessions})
    states = {'{state="running"}': now.running, '{state="waiting"}': now.waiting}
    yield from _metric("rauq_generations", "gauge", "Answers that are generated or wait for it.", states)
    yield from _metric(
        "rauq_stopping", "gauge", "1 while the host finishes its work and takes no more.", {"": now.stopping}
    )
    if (resident := _resident_bytes()) is not None:
        yield from _metric("rauq_resident_bytes", "gauge", "Memory of the server.", {"": resident})
    yield from _metric("rauq_start_time_seconds", "gauge", "When it started, Unix time.", {"": counts.started})


def _counters(counts: Counts) -> Iterator[str]:
    yield from _metric("rauq_tokens_total", "counter", "Generated tokens.", {"": counts.tokens})
    for name, label, what, found in (
        ("answers", "outcome", "Answers by how they ended: done, stopped, failed or refused.", counts.answers),
        ("failures", "error", "Failed answers and pages by the class of the error.", counts.failures),
        ("requests", "status", "HTTP requests by status.", counts.requests),
    ):
        values = {f'{{{label}="{value}"}}': number for value, number in sorted(found.items())}
        yield from _metric(f"rauq_{name}_total", "counter", what, values)


def _waits(counts: Counts) -> Iterator[str]:
    total, buckets = 0, {}
    for end, number in zip((*map(str, WAITS), "+Inf"), counts.waits, strict=True):
        total += number
        buckets[f'_bucket{{le="{end}"}}'] = total
    values = {**buckets, "_sum": round(counts.waited, 6), "_count": total}
    yield from _metric("rauq_wait_seconds", "histogram", "Seconds that answers waited for the model.", values)


def _metric(name: str, kind: str, about: str, values: Mapping[str, float]) -> Iterable[str]:
    """The lines of one metric; `values` by what follows its name."""
    return (
        f"# HELP {name} {about}",
        f"# TYPE {name} {kind}",
        *(f"{name}{end} {value:.15g}" for end, value in values.items()),
    )


def _resident_bytes() -> int | None:
    """Memory of this process, where the system tells it as Linux does."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def log(event: str, **values: object) -> None:
    """Write one line: the event, then name=value; a text is quoted as JSON in ASCII, so that it cannot make a line."""
    written = (f"{name}={_as_value(value)}" for name, value in values.items())
    _log.info("%s", " ".join((event, *written)))


def _as_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return json.dumps(value[:_MOST_CHARACTERS]) if isinstance(value, str) else str(value)
