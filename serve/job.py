"""One answer that a client waits for: where it ends, and what is told of it while it grows."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rauq.arguments import Sampling
from rauq.errors import NonFiniteLogits
from rauq.model.context import PromptLike
from rauq.scoring.watch import AnswerMonitor, Watch
from rauq.trace.trace import StopReason, Trace

BLOCK = 4  # tokens of a stream whose numbers are sent together: those of one more token cost as much as these
Ending = Literal["eos", "stop", "length", "time", "alarm", "cancelled"]
_IN_TRACE: dict[Ending, StopReason] = {"stop": "stop", "length": "length", "time": "length"}


@dataclass(frozen=True, kw_only=True)
class Grown:
    """The answer is longer: its text up to where no stop text can begin, and the trace so far where it was wanted."""

    text: str
    trace: Trace | None = None


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The answer has ended: its trace, how it ended, and its text without the stop text."""

    trace: Trace
    ending: Ending
    text: str
    alarm: str = ""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """There is no answer."""

    error: Exception


Event = Grown | Ended | Failed


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What an answer has to be.

    `chat`: as in `PromptOptions`. `num_prompt`: tokens of the prompt. `until`: when it ends at the latest, by
    `time.monotonic`. `grows`: whether its text is told while it grows; `with_traces`: the trace so far as well.
    """

    prompt: PromptLike
    chat: bool | None
    num_prompt: int
    most_tokens: int
    stops: tuple[str, ...]
    sampling: Sampling | None
    until: float
    grows: bool = False
    with_traces: bool = False


@dataclass(eq=False)
class Job:
    """An answer that waits or grows; `tell` is called in a thread of the model, and `is_set` ends the answer.

    A batch that did not fit in memory is run again one by one, and tells its tokens again: these are not counted.
    """

    wanted: Wanted
    tell: Callable[[Event], object]
    monitor: AnswerMonitor | None = None
    ending: Ending | None = None
    text: str = ""
    count: int = 0
    has_ended: bool = False
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def watch(self) -> Watch:
        """What `generate_batch` has to call."""
        return Watch(
            on_token=self._take,
            on_progress=self._progress if self.wanted.with_traces else None,
            on_end=self._end,
            cancel=self,
            monitor=self.monitor,
        )

    def is_set(self) -> bool:
        """Whether the answer ends with the token that it has now."""
        return self.gone.is_set() or self.ending is not None

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return time.monotonic() > self.wanted.until

    def fail(self, error: Exception) -> None:
        """Tell that there is no answer, unless it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self.tell(Failed(error=error))

    def _take(self, index: int, _id: int, text: str) -> None:
        if index < self.count:
            return
        before, self.count, self.text = len(self.text), index + 1, self.text + text
        if first_stop(self.text, self.wanted.stops, since=before) is not None:
            self.ending = "stop"
        elif self.count >= self.wanted.most_tokens:
            self.ending = "length"
        elif self.is_late:
            self.ending = "time"
        elif self.wanted.grows and not self.wanted.with_traces:
            self.tell(Grown(text=self.text[: sure_length(self.text, self.wanted.stops)]))

    def _progress(self, trace_so_far: Callable[[], Trace]) -> None:
        if self.count % BLOCK == 1:  # the first token at once
            text = self.text[: sure_length(self.text, self.wanted.stops)]
            self.tell(Grown(text=text, trace=trace_so_far()))

    def _end(self, trace: Trace | NonFiniteLogits) -> None:
        if isinstance(trace, NonFiniteLogits):
            self.fail(trace)
        elif not self.has_ended:
            self.has_ended = True
            self.tell(self._ended(trace))

    def _ended(self, trace: Trace) -> Ended:
        answer = "".join(trace.answer_tokens)
        cut = first_stop(answer, self.wanted.stops)
        ending: Ending = "eos" if trace.stop_reason == "eos" else self.ending or "cancelled"
        alarm = "" if cut is not None else self._alarm()
        if cut is not None:
            ending = "stop"
        elif alarm:
            ending = "alarm"
        said = replace(trace, stop_reason=_IN_TRACE.get(ending, trace.stop_reason))
        return Ended(trace=said, ending=ending, text=answer[:cut], alarm=alarm)

    def _alarm(self) -> str:
        """Why the monitor has ended the answer; empty where it has not."""
        if self.monitor is None or self.monitor.alarm is None or self.monitor.threshold is None:
            return ""
        at = self.monitor.tokens[self.monitor.alarm]
        return f"uncertainty {at.uncertainty:.4g} above {self.monitor.threshold:g} nats at token {at.index}"


def first_stop(text: str, stops: Sequence[str], *, since: int = 0) -> int | None:
    """Where the first stop text of a text begins; None: there is none. `since`: before it, none ends."""
    found = [text.find(stop, max(0, since - len(stop) + 1)) for stop in stops]
    return min((place for place in found if place >= 0), default=None)


def sure_length(text: str, stops: Sequence[str]) -> int:
    """The characters of a growing text that no stop text can take away any more."""
    held = (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size]))
    return len(text) - max(held, default=0)
