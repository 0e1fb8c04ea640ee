"""What the operator of a server is told: counts as Prometheus reads them, without any text of a client."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rauq.trace.trace import Trace

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(eq=False)
class Counts:
    """What happened since the server started; the event loop and threads of the model write it.

    `requests` by route and status, `answers` by how they ended, `tokens` of prompts and answers, and the `seconds` from
    a request to its first text, of `first` answers.
    """

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    first: int = 0
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def request(self, route: str, status: int) -> None:
        """Count a request that was answered."""
        with self.lock:
            self.requests[route, status] += 1

    def answer(self, ending: str, trace: Trace) -> None:
        """Count an answer that has ended."""
        with self.lock:
            self.answers[ending] += 1
            self.tokens.update({"prompt": len(trace.prompt_ids), "completion": len(trace.answer_ids)})

    def failure(self) -> None:
        """Count an answer that failed."""
        with self.lock:
            self.answers["failed"] += 1

    def began(self, seconds: float) -> None:
        """Count the seconds to the first text of an answer."""
        with self.lock:
            self.first, self.seconds = self.first + 1, self.seconds + seconds


def metrics(counts: Counts, *, waiting: int, running: int) -> str:
    """All counts in Prometheus' text format."""
    with counts.lock:
        return "".join(f"{line}\n" for line in _lines(counts, waiting, running))


def _lines(counts: Counts, waiting: int, running: int) -> Iterator[str]:
    yield "# TYPE rauq_serve_requests_total counter"
    for (route, status), count in sorted(counts.requests.items()):
        yield f'rauq_serve_requests_total{{route="{route}",status="{status}"}} {count}'
    yield "# TYPE rauq_serve_answers_total counter"
    for ending, count in sorted(counts.answers.items()):
        yield f'rauq_serve_answers_total{{ending="{ending}"}} {count}'
    yield "# TYPE rauq_serve_tokens_total counter"
    for kind, count in sorted(counts.tokens.items()):
        yield f'rauq_serve_tokens_total{{kind="{kind}"}} {count}'
    yield "# TYPE rauq_serve_first_text_seconds summary"
    yield f"rauq_serve_first_text_seconds_sum {counts.seconds}"
    yield f"rauq_serve_first_text_seconds_count {counts.first}"
    yield "# TYPE rauq_serve_waiting gauge"
    yield f"rauq_serve_waiting {waiting}"
    yield "# TYPE rauq_serve_running gauge"
    yield f"rauq_serve_running {running}"
