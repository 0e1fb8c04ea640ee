"""The cache of a process as a room that sequences enter and leave while others run."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition

import numpy as np

from rauq.arguments import Cancel
from rauq.errors import EngineStopped, InvalidInput, RauqError, Stopped
from rauq.llama_cpp.context import CANCELLED
from rauq.llama_cpp.messages import Message
from rauq.llama_cpp.process import Process
from rauq.llama_cpp.recording import Tokens

_PATIENCE = 0.05  # seconds that a step waits for the next token of a sequence, which is then in the step after
_PROMPT = 512  # tokens of each prompt that are run between two steps of the others, as many as llama.cpp takes at once
_ROW_AXES = (0, 2, 2)  # of logits (R, V), band (L, H, R, K) and shares (L, H, R, G)


@dataclass(eq=False)
class Room:
    """How several threads feed one process: each has a sequence, and the next tokens of all are run as one batch.

    `tokens` is the size of the cache, and `places` the most sequences. Where the process ends, every sequence has the
    error, and so has one that enters after it.
    """

    process: Process
    tokens: int
    places: int
    offsets: int = 0  # keys back, as the first sequence wants them; so must the others
    taken: set[int] = field(default_factory=set)
    growing: set[int] = field(default_factory=set)  # past their prompts: a step waits for them
    steps: dict[int, Tokens] = field(default_factory=dict)  # what they feed next
    replies: dict[int, Message | RauqError] = field(default_factory=dict)
    moved: Condition = field(default_factory=Condition)

    def enter(self, *, offsets: int) -> int:
        """A sequence of its own for a thread.

        Raises:
            InvalidInput: all are taken, or the others capture another number of keys back.
            RauqError: as `Process.ask`.
        """
        with self.moved:
            if not self.taken:
                self.process.ask("begin", cells=self.tokens, offsets=offsets)
                self.offsets = offsets
            free = set(range(self.places)) - self.taken
            if not free or offsets != self.offsets:
                message = (
                    f"Got a sequence that needs {offsets} keys back, as number {len(self.taken) + 1}; at most "
                    f"{self.places} run together, and these need {self.offsets}."
                )
                raise InvalidInput(message)
            self.taken.add(sequence := min(free))
            return sequence

    def leave(self, sequence: int) -> None:
        """Free the cells of a sequence; the others no longer wait for it."""
        with self.moved:
            self.growing.discard(sequence)
            self.steps.pop(sequence, None)
            self.replies.pop(sequence, None)
            try:
                with suppress(EngineStopped):  # and the cells are gone with it
                    self.process.ask("remove", sequence=sequence)
            finally:
                self.taken.discard(sequence)
                self.moved.notify_all()

    def prompt(self, tokens: Tokens, *, cancel: Cancel | None) -> Message:
        """What the last tokens of a prompt give, those that are rows; the others may take steps meanwhile.

        Raises:
            RauqError: as `Process.ask`.
        """
        num_before = int(len(tokens.rows) - tokens.rows.sum())  # rows are the last ones
        for start in range(0, num_before, _PROMPT):
            if cancel is not None and cancel.is_set():
                raise Stopped(CANCELLED)
            self._ask(_part(tokens, start, min(start + _PROMPT, num_before)), cancel)
            with self.moved:
                if self.growing:  # which would wait for the whole prompt if the lock were taken again at once
                    self.moved.wait(_PATIENCE)
        return self._ask(_part(tokens, num_before, len(tokens.rows)), cancel)

    def step(self, tokens: Tokens) -> Message:
        """What the next token of a sequence gives, computed with those of all others that are growing.

        Raises:
            RauqError: as `Process.ask`; every sequence of the step has it.
        """
        sequence = int(tokens.sequences[0])
        with self.moved:
            self.growing.add(sequence)
            self.steps[sequence] = tokens
            until = time.monotonic() + _PATIENCE
            while sequence not in self.replies:
                if self.steps.keys() >= self.growing or time.monotonic() >= until:
                    self._run()
                else:
                    self.moved.wait(until - time.monotonic())
            reply = self.replies.pop(sequence)
        if isinstance(reply, RauqError):
            raise type(reply)(*reply.args)
        return reply

    def _ask(self, tokens: Tokens, cancel: Cancel | None) -> Message:
        with self.moved:
            return self.process.ask("feed", tokens.ids, tokens.positions, tokens.sequences, tokens.rows, cancel=cancel)

    def _run(self) -> None:
        """Run the steps that are there as one batch."""
        steps, self.steps = self.steps, {}
        try:
            reply = self._ask(_joined(list(steps.values())), None)
            self.replies.update({sequence: _row(reply, row) for row, sequence in enumerate(steps)})
        except Exception as error:  # noqa: BLE001 - whoever waits is told, whatever it is
            known = error if isinstance(error, RauqError) else EngineStopped(f"{type(error).__name__}: {error}")
            self.replies.update(dict.fromkeys(steps, known))
        self.moved.notify_all()


def _part(tokens: Tokens, start: int, end: int) -> Tokens:
    part = slice(start, end)
    return Tokens(tokens.ids[part], tokens.positions[part], tokens.sequences[part], tokens.rows[part])


def _joined(steps: list[Tokens]) -> Tokens:
    columns = zip(*((step.ids, step.positions, step.sequences, step.rows) for step in steps), strict=True)
    return Tokens(*(np.concatenate(column) for column in columns))


def _row(reply: Message, row: int) -> Message:
    """What a batch gave, cut down to one of its rows."""
    arrays = zip(reply.arrays, _ROW_AXES, strict=True)
    return Message(reply.header, [array.take([row], axis) if array.shape[axis] else array for array, axis in arrays])
