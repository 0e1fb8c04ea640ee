"""From the threads of the model to the event loop: what happens to the answers of one step is handed over together."""

import asyncio
import threading
from dataclasses import dataclass, field

from serve.job import Event

Letter = tuple[int, Event]  # the index of a choice, and what happened to it
Box = asyncio.Queue[Letter]
# Seconds: all answers that grow together usually have their next tokens by then. Waking the loop for each of them would
# take time from the threads that still choose theirs.
_STEP = 0.003


@dataclass(eq=False)
class Mailbox:
    """What is on its way, by the loop that it is for."""

    waiting: dict[asyncio.AbstractEventLoop, list[tuple[Box, Letter]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, loop: asyncio.AbstractEventLoop, box: Box, letter: Letter) -> None:
        """Put a letter into a box of a running loop soon, after those before it; from any thread."""
        with self.lock:
            is_first = loop not in self.waiting
            self.waiting.setdefault(loop, []).append((box, letter))
        if is_first:
            loop.call_soon_threadsafe(loop.call_later, _STEP, self._deliver, loop)

    def _deliver(self, loop: asyncio.AbstractEventLoop) -> None:
        with self.lock:
            letters = self.waiting.pop(loop)
        for box, letter in letters:
            box.put_nowait(letter)
