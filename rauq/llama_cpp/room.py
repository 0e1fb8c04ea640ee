"""The cache of a process as a room that sequences enter and leave while others run."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from threading import Condition

import numpy as np

from rauq.arguments import Act, Cancel, nothing
from rauq.errors import EngineStopped, InvalidInput, RauqError, Stopped
from rauq.llama_cpp.context import CANCELLED, PROMPT
from rauq.llama_cpp.messages import Message
from rauq.llama_cpp.process import Process
from rauq.llama_cpp.recording import Tokens

_PATIENCE = 0.05  # seconds that a free process waits for the next token of a sequence, which is then in the step after
_ROW_AXES = (0, 2, 2)  # of logits (R, V), band (L, H, R, K) and shares (L, H, R, G)

Reply = Message | RauqError


@dataclass(frozen=True, eq=False)
class _Fed:
    """What a thread wants to be run of its sequence, and what ends its prompt before the first row."""

    tokens: Tokens
    cancel: Cancel | None
    num_before: int  # tokens before the rows, which are the last ones

    @property
    def is_unwanted(self) -> bool:
        """Whether it is a prompt that was cancelled."""
        return self.cancel is not None and self.num_before > 0 and self.cancel.is_set()

    def split(self, end: int) -> tuple[Tokens, "_Fed"]:
        """The tokens before one, which are no rows, and what is left."""
        tokens = self.tokens
        columns = tokens.ids, tokens.positions, tokens.sequences, tokens.rows
        left = _Fed(Tokens(*(column[end:] for column in columns)), self.cancel, self.num_before - end)
        return Tokens(*(column[:end] for column in columns)), left


class _Once:
    """Calls a function the first time that it is called, and keeps what that raises: it concerns one answer alone."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.fault: Exception | None = None

    def __call__(self) -> None:
        """Call it, or do nothing."""
        act, self.act = self.act, nothing
        try:
            act()
        except Exception as error:  # noqa: BLE001 - `feed` raises it
            self.fault = error


class _Any:
    """Whether one of several prompts is cancelled."""

    def __init__(self, fed: Sequence[_Fed]) -> None:
        self.fed = fed

    def is_set(self) -> bool:
        """Whether to stop what runs."""
        return any(one.is_unwanted for one in self.fed)


@dataclass(eq=False)
class Room:
    """How several threads feed one process: each has a sequence, and what all of them feed is run as one batch.

    `tokens` is the size of the cache, and `places` the most sequences. A prompt takes over what it has in common with
    the beginning of another one that is in the cache. While a batch runs, the lock is free, so that what comes is in
    the next one. Where the process ends, every sequence has the error, and so has one that enters after it.
    """

    process: Process
    tokens: int
    places: int
    offsets: int = 0  # keys back, as the first sequence wants them; so must the others
    prompts: dict[int, np.ndarray] = field(default_factory=dict)  # of each sequence, as far as it is in the cache
    growing: set[int] = field(default_factory=set)  # past their prompts: a batch waits for them
    waiting: dict[int, _Fed] = field(default_factory=dict)  # in the order in which they are run
    replies: dict[int, Reply] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)  # whose cells are freed once no batch runs
    is_running: bool = False
    is_closed: bool = False
    free_since: float = 0.0
    moved: Condition = field(default_factory=Condition)

    def enter(self, *, offsets: int) -> int:
        """A sequence of its own for a thread.

        Raises:
            InvalidInput: all are taken, the others capture another number of keys back, or the room is closed.
            RauqError: as `Process.ask`.
        """
        with self.moved:
            self._check_open()
            self.moved.wait_for(lambda: not self.left)  # their cells may be needed for this one
            if not self.prompts:
                self.process.ask("begin", cells=self.tokens, offsets=offsets)
                self.offsets = offsets
            if offsets != self.offsets:
                message = f"Got a sequence that needs {offsets} keys back; those that run need {self.offsets}."
                raise InvalidInput(message)
            if len(self.prompts) == self.places:
                message = f"Got a sequence as number {self.places + 1}; at most {self.places} run together."
                raise InvalidInput(message)
            sequence = min(set(range(self.places)) - self.prompts.keys())
            self.prompts[sequence] = np.empty(0, np.int32)
            return sequence

    def leave(self, sequence: int) -> None:
        """End a sequence: the others no longer wait for it, and its cells are freed after the batch that runs."""
        with self.moved:
            self.growing.discard(sequence)
            self.left.add(sequence)
            if not self.is_running:
                self.moved.notify_all()
                self._free()

    def close(self) -> None:
        """Refuse what is fed from now on; returns once no batch runs."""
        with self.moved:
            self.is_closed = True
            self.moved.notify_all()
            self.moved.wait_for(lambda: not self.is_running)

    def feed(self, tokens: Tokens, *, cancel: Cancel | None, meanwhile: Act = nothing) -> Message:
        """What a prompt or the next token of a sequence gives; `cancel` ends a prompt.

        `meanwhile` is called once before this returns: if possible, while others choose their tokens or the process
        runs them.

        Raises:
            InvalidInput: the room is closed.
            RauqError: as `Process.ask`; every sequence of a batch has it.
        """
        sequence = int(tokens.sequences[0])
        num_before = len(tokens.rows) - int(np.count_nonzero(tokens.rows))
        once = _Once(meanwhile)
        with self.moved:
            self.waiting[sequence] = _Fed(tokens, cancel, num_before)
            is_last = not self.is_running and self.waiting.keys() >= self.growing
        if not is_last:
            once()
        while some := self._taken(sequence):
            self._run(some, once)
        once()
        reply = self.replies.pop(sequence)
        if isinstance(reply, RauqError):
            raise type(reply)(*reply.args)
        if once.fault is not None:
            raise once.fault
        return reply

    def _check_open(self) -> None:
        if self.is_closed:
            message = "The answers that ran together have ended: the body of `together` was left."
            raise InvalidInput(message)

    def _taken(self, sequence: int) -> dict[int, _Fed]:
        """What the thread of a sequence has to run for all; nothing once its own reply is there.

        A batch begins once all that are growing have chosen their next tokens, or the process has waited for long
        enough.
        """
        entered = time.monotonic()
        with self.moved:
            while sequence not in self.replies:
                self._check_open()
                left = max(entered, self.free_since) + _PATIENCE - time.monotonic()
                if not self.is_running and (left <= 0 or self.waiting.keys() >= self.growing):
                    self.is_running = True
                    some, self.waiting = self.waiting, {}
                    return some
                self.moved.wait(None if self.is_running else left)
        return {}

    def _run(self, some: dict[int, _Fed], meanwhile: Act) -> None:
        """Run a batch, and give everyone who waits for it a reply, or a place in the next one."""
        replies, left = dict[int, Reply](), dict[int, _Fed]()
        try:
            some = {sequence: self._after_shared(sequence, fed) for sequence, fed in some.items()}
            if wanted := {sequence: fed for sequence, fed in some.items() if not fed.is_unwanted}:
                replies, left = self._replies(wanted, meanwhile)
        except Stopped:
            left = {sequence: fed for sequence, fed in some.items() if not fed.is_unwanted}
        except BaseException as error:
            known = error if isinstance(error, RauqError) else EngineStopped(f"{type(error).__name__}: {error}")
            replies = dict.fromkeys(some, known)
            if not isinstance(error, Exception):
                raise
        finally:
            with self.moved:
                self.is_running, self.free_since = False, time.monotonic()
                self.moved.notify_all()
                self.replies |= dict.fromkeys(some.keys() - left.keys(), Stopped(CANCELLED)) | replies
                self.growing |= {sequence for sequence, reply in replies.items() if isinstance(reply, Message)}
                self.waiting = left | self.waiting  # who has waited longest is run first
                self._free()

    def _free(self) -> None:
        """Forget those who have left, and free their cells."""
        gone, self.left = self.left, set()
        for sequence in gone:
            self.growing.discard(sequence)
            for kept in (self.prompts, self.waiting, self.replies):
                kept.pop(sequence, None)
        if not self.is_closed:  # else others may ask the process already
            for sequence in gone:
                with suppress(EngineStopped):  # and the cells are gone with it
                    self.process.ask("remove", sequence=sequence)

    def _replies(self, some: dict[int, _Fed], meanwhile: Act) -> tuple[dict[int, Reply], dict[int, _Fed]]:
        """The replies to those that are complete with the next batch, and what is left of the others."""
        befores, lasts, left = _of_next_batch(some)
        tokens = _joined([*befores.values(), *lasts.values()])
        arrays = tokens.ids, tokens.positions, tokens.sequences, tokens.rows
        prompts = [fed for fed in some.values() if fed.num_before and fed.cancel is not None]
        cancel = _Any(prompts) if prompts else None
        reply = self.process.ask("feed", *arrays, cancel=cancel, meanwhile=meanwhile)
        for sequence, before in befores.items():
            self.prompts[sequence] = np.concatenate([self.prompts[sequence], before.ids])
        ends = accumulate((len(one.ids) for one in lasts.values()), initial=0)
        rows = zip(lasts, pairwise(ends), strict=True)
        return {sequence: _rows(reply, slice(start, end)) for sequence, (start, end) in rows}, left

    def _after_shared(self, sequence: int, fed: _Fed) -> _Fed:
        """What is left to run of a prompt, once it has begun as that of another sequence, if it is to begin."""
        if not fed.num_before or len(self.prompts[sequence]):
            return fed
        prompt = fed.tokens.ids[: fed.num_before]
        lengths = {other: _common_length(prompt, ids) for other, ids in self.prompts.copy().items()}
        source = max(lengths, key=lengths.__getitem__)
        length = lengths[source]
        if not length or not self._copied(source, sequence, length):
            return fed
        self.prompts[sequence] = prompt[:length]
        return fed.split(length)[1]

    def _copied(self, source: int, target: int, length: int) -> bool:
        reply = self.process.ask("copy_whole", source=source, target=target, length=length)
        return bool(reply.header["is_whole"])


def _of_next_batch(some: dict[int, _Fed]) -> tuple[dict[int, Tokens], dict[int, Tokens], dict[int, _Fed]]:
    """What comes before rows, and the rows, of as much as a batch takes; what is left of the others."""
    most, befores, lasts, left = PROMPT, dict[int, Tokens](), dict[int, Tokens](), dict[int, _Fed]()
    for sequence, fed in some.items():
        rest = fed
        if end := min(most, fed.num_before):
            befores[sequence], rest = fed.split(end)
            most -= end
        if rest.num_before:
            left[sequence] = rest
        else:
            lasts[sequence] = rest.tokens
    return befores, lasts, left


def _common_length(one: np.ndarray, other: np.ndarray) -> int:
    length = min(len(one), len(other))
    different = np.flatnonzero(one[:length] != other[:length])
    return int(different[0]) if len(different) else length


def _joined(tokens: Sequence[Tokens]) -> Tokens:
    columns = zip(*((one.ids, one.positions, one.sequences, one.rows) for one in tokens), strict=True)
    return Tokens(*map(np.concatenate, columns))


def _rows(reply: Message, rows: slice) -> Message:
    """What a batch gave, cut down to some of its rows; a view where each row is in one piece, as of logits."""
    arrays = zip(reply.arrays, _ROW_AXES, strict=True)
    cut = [array[(slice(None),) * axis + (rows,)] for array, axis in arrays]
    return Message(reply.header, list(map(np.ascontiguousarray, cut)))
