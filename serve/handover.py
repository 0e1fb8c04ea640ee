"""From the threads of the model to the event loop: what happens to the answers of one step is handed over together."""

import asyncio
import threading
from dataclasses import dataclass, field

from serve.job import Event

OfChoice = tuple[int, Event]  # the index of a choice, and what happened to it
Events = asyncio.Queue[OfChoice]
# Seconds: all answers that grow together usually have their next tokens by then. Waking the loop for each of them would
# take time from the threads that still choose theirs.
_STEP = 0.003


@dataclass(eq=False)
class Handover:
    """Events on their way to a loop, each with the queue that it goes into."""

    waiting: dict[asyncio.AbstractEventLoop, list[tuple[Events, OfChoice]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, loop: asyncio.AbstractEventLoop, queue: Events, event: OfChoice) -> None:
        """Put an event into a queue of a running loop soon, after those before it; from any thread."""
        with self.lock:
            is_first = loop not in self.waiting
            self.waiting.setdefault(loop, []).append((queue, event))
        if is_first:
            loop.call_soon_threadsafe(loop.call_later, _STEP, self._pass_on, loop)

    def _pass_on(self, loop: asyncio.AbstractEventLoop) -> None:
        with self.lock:
            together = self.waiting.pop(loop)
        for queue, event in together:
            queue.put_nowait(event)
