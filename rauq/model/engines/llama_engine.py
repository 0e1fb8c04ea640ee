"""llama.cpp as an engine: a GGUF file is run as it is, in a process of its own, on the CPU."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from rauq.arguments import Act, nothing
from rauq.capture.cache import Prefix, common_length
from rauq.capture.check import Check
from rauq.capture.extras import Kept, Layout, PartShares
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.llama_cpp.context import MOST_SEQUENCES, tokens_of
from rauq.llama_cpp.messages import Message
from rauq.llama_cpp.process import Process, start
from rauq.llama_cpp.recording import Tokens as SentTokens
from rauq.llama_cpp.room import Room
from rauq.model.engines.engine import Budget
from rauq.trace.extras import OF_EVERY_ENGINE, Wanted
from rauq.trace.prompt_parts import ANSWER_SO_FAR
from rauq.trace.trace import Extra, Trace

_RANDOM_TOKENS = 20
_CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A file that llama.cpp has opened: what runs it, with its version, and the width of its logits."""

    engine: str
    vocab_size: int


class LlamaPrefixes:
    """What the prompts of a batch share at their beginning; nothing is kept from one call to the next.

    Products with quantised weights round activations, and depend on how many tokens are run at once: what another call
    has left in the cache would change an answer.
    """

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """See `rauq.model.engines.engine.Prefixes`."""
        if len(sequences) == 1:
            return Prefix()
        return Prefix(sequences[0][: min(common_length(sequences), max(map(len, sequences)) - tail)])


@dataclass(eq=False)
class LlamaEngine:
    """A file, and the process that runs it, which is started again where it has ended.

    `full_window` gives layers with a sliding window as much room as the others, and `half_cache` holds keys and values
    in float16, as llama.cpp does by default.
    """

    path: Path
    threads: int
    full_window: bool = True
    half_cache: bool = True
    _process: Process | None = None
    _room: Room | None = None

    @cached_property
    def opened(self) -> Opened:
        """What the file is, once it is opened.

        Raises:
            MissingPackage: llama.cpp is not installed.
            ModelNotFound, UnsupportedModel: it cannot be opened, or not exactly.
        """
        self.close()
        self._process = start()
        about = self._process.ask(
            "open",
            path=str(self.path),
            threads=self.threads,
            full_window=self.full_window,
            half_cache=self.half_cache,
        )
        return Opened(**about.header)

    @property
    def about(self) -> str:
        """Its name and version."""
        return f"llama.cpp ({self.opened.engine})"

    run_identity = about
    device = _CPU
    dtype = "float32"
    runs_alone = False
    most_together = MOST_SEQUENCES
    lacking = (
        'llama.cpp runs it, which gives neither hidden states nor whole rows of attention; engine="transformers" does'
    )

    @property
    def model(self) -> NoReturn:
        """None.

        Raises:
            UnsupportedModel: always.
        """
        message = (
            f"{self.path.name} is run by llama.cpp, which gives neither hidden states nor gradients. Load it with "
            'engine="transformers" for that.'
        )
        raise UnsupportedModel(message)

    def extras(self, layers: Sequence[int], num_layers: int) -> tuple[Extra, ...]:
        """See `rauq.model.engines.engine.Engine`: those of every engine."""
        del layers, num_layers
        return OF_EVERY_ENGINE

    def new_prefixes(self) -> LlamaPrefixes:
        """See `rauq.model.engines.engine.Engine`."""
        return LlamaPrefixes()

    def new_session(self, layout: Layout, wanted: Wanted, prefix: Prefix, budget: Budget) -> "LlamaSession":
        """See `rauq.model.engines.engine.Engine`.

        Raises:
            InvalidInput: more sequences than llama.cpp takes.
        """
        if len(layout.begins) > MOST_SEQUENCES:
            message = f"Got a batch of {len(layout.begins)} sequences; llama.cpp takes {MOST_SEQUENCES} at most."
            raise InvalidInput(message)
        if self._room is not None:
            return JoiningSession(self._room, layout, wanted, budget)
        return LlamaSession(self.process(), layout, wanted, prefix, budget)

    @contextmanager
    def together(self, tokens: int) -> Iterator[None]:
        """See `rauq.model.engines.engine.Engine`."""
        if self._room is not None:
            message = "Got `together` within `together`; begin all answers in the outer one."
            raise InvalidInput(message)
        self._room = room = Room(self.process(), tokens, MOST_SEQUENCES)
        try:
            yield
        finally:
            room.close()
            self._room = None

    def check(self, ids: Sequence[int] | None, *, generate: Callable[..., Trace], vocab_size: int) -> Check:
        """See `rauq.model.engines.engine.Engine`: the reference is computed in the process, from the same graph."""
        del generate
        if self._room is not None:
            message = "The capture is checked while no answer runs."
            raise InvalidInput(message)
        return self.compared(random_ids(vocab_size) if ids is None else ids)[0]

    def compared(self, ids: Sequence[int]) -> tuple[Check, int]:
        """The check of these tokens, and the number of heads in each layer."""
        found = self.process().ask("check", np.array(ids, np.int32)).header
        check = Check(
            layers=tuple(found["layers"]),
            differences=tuple(found["differences"]),
            tolerances=tuple(found["tolerances"]),
            eager_differences=(np.nan,) * len(found["layers"]),
            problem=found["problem"],
        )
        return check, int(found["num_heads"])

    @contextmanager
    def running(self, doing: str) -> Iterator[None]:
        """See `rauq.model.engines.engine.Engine`; the process has its own errors."""
        del doing
        yield

    def bytes_held(self, device: str) -> int:
        """The size of the file, which is mapped into main memory."""
        return self.path.stat().st_size if torch.device("cpu" if device == "auto" else device) == _CPU else 0

    def process(self) -> Process:
        """The process, with the file open; it is started if it is not running.

        Raises:
            RauqError: as of `opened`.
        """
        if self._process is None or not self._process.is_running:
            vars(self).pop("opened", None)
        _ = self.opened
        assert self._process is not None  # noqa: S101 - opened just now
        return self._process

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None


class LlamaSession:
    """One batch in llama.cpp: row i of it is the sequence `sequences[i]` of the cache, with no padding.

    It ends with the process that it was begun in.
    """

    def __init__(self, process: Process, layout: Layout, wanted: Wanted, prefix: Prefix, budget: Budget) -> None:
        self.process, self.begins, self.cancel = process, list(layout.begins), budget.cancel
        self.kept = Kept(wanted.names & {"part_shares"}, layout)
        self.seen = 0  # columns of the left-padded batch
        self.sequences = list(range(len(layout.begins)))
        self.layers: tuple[int, ...] = ()
        self.blocks: list[Tensor] = []  # of the band (B, L, H, n, K)
        self.steps: list[np.ndarray] = []  # after the blocks: of one row of each sequence (L, H, B, K)
        self._begin(wanted, prefix, budget)

    def feed(self, ids: Tensor, *, tail: int, meanwhile: Act = nothing) -> Tensor:
        """See `rauq.capture.session.CaptureSession`."""
        batch, number = ids.shape
        if number == tail == 1:
            return self._step(ids, meanwhile)
        columns = self.seen + np.arange(number)
        positions = columns - np.array(self.begins)[:, None]  # (B, n)
        is_row = np.broadcast_to(np.arange(number) >= number - tail, positions.shape)
        real = positions >= 0
        places = np.concatenate([np.argwhere(real & ~is_row), np.argwhere(real & is_row)])
        which = places[:, 0], places[:, 1]
        sequences = np.array(self.sequences, np.int32)[places[:, 0]]
        sent = tokens_of(ids.numpy()[which], positions[which], sequences, is_row[which])
        reply = self._reply(sent, meanwhile)
        self.seen += number
        rows = places[is_row[which]] - (0, number - tail)
        return self._placed(reply, rows, batch, tail)

    def repeat(self, times: int) -> None:
        """See `rauq.capture.session.CaptureSession`.

        Raises:
            InvalidInput: more sequences than llama.cpp takes.
        """
        own, free = list(self.sequences), iter(range(len(self.sequences), MOST_SEQUENCES))
        if len(own) * times > MOST_SEQUENCES:
            message = f"Got {len(own)} prompts with {times} samples each; llama.cpp takes {MOST_SEQUENCES} at once."
            raise InvalidInput(message)
        repeated = [[first, *(next(free) for _ in range(times - 1))] for first in own]
        for (first, *others), begin in zip(repeated, self.begins, strict=True):
            for other in others:
                self.process.ask("copy", source=first, target=other, length=self.seen - begin)
        self.sequences = [sequence for group in repeated for sequence in group]
        self.begins = np.repeat(self.begins, times).tolist()
        self.blocks = [self.band().repeat_interleave(times, dim=0)]
        self.kept.repeat(times)

    def band(self) -> Tensor:
        """See `rauq.capture.session.CaptureSession`."""
        self._flush()
        self.blocks = [torch.cat(self.blocks, dim=3)]
        return self.blocks[0]

    def latest(self, layers: Sequence[int]) -> Tensor:
        """See `rauq.capture.session.CaptureSession`."""
        places = [self.layers.index(layer) for layer in layers]
        if self.steps:
            return torch.from_numpy(self.steps[-1][places, :, :, 0].transpose(2, 0, 1))
        return self.blocks[-1][:, places, :, -1, 0]

    def close(self) -> None:
        """See `rauq.capture.session.CaptureSession`: the next one empties the cache."""

    def _flush(self) -> None:
        """Make a block of the steps."""
        if self.steps:
            rows = np.stack(self.steps, axis=3).transpose(2, 0, 1, 3, 4)  # (L, H, B, n, K) to (B, L, H, n, K)
            self.blocks.append(torch.from_numpy(rows))
            self.steps = []

    def _begin(self, wanted: Wanted, prefix: Prefix, budget: Budget) -> None:
        self.process.ask("begin", cells=budget.tokens, offsets=wanted.offsets)
        self._share(prefix.ids)
        if self.kept.part_shares is not None:
            self._set_parts(self.kept.part_shares)

    def _share(self, prefix: Sequence[int]) -> None:
        """Feed what all rows share to the first one, and let the others begin with it, each after its padding."""
        self.seen = len(prefix)
        lengths = [max(0, self.seen - begin) for begin in self.begins]
        longest = max(lengths, default=0)
        if not longest:
            return
        first = lengths.index(longest)
        self.sequences[0], self.sequences[first] = self.sequences[first], self.sequences[0]
        number = np.arange(longest)
        self.process.ask(
            "feed", np.array(prefix[:longest], np.int32), number, 0 * number, number < 0, cancel=self.cancel
        )
        for row, length in enumerate(lengths):
            if row != first and length:
                self.process.ask("copy", source=0, target=self.sequences[row], length=length)

    def _set_parts(self, shares: PartShares) -> None:
        """Say in which column of the extra each position of each sequence is; they have no padding there."""
        table = shares.columns.numpy()
        columns = np.full((max(self.sequences) + 1, table.shape[1]), ANSWER_SO_FAR)
        for row, (sequence, begin) in enumerate(zip(self.sequences, self.begins, strict=True)):
            columns[sequence, : table.shape[1] - begin] = table[row, begin:]
        self.process.ask("parts", columns, number=shares.num_columns)

    def _step(self, ids: Tensor, meanwhile: Act) -> Tensor:
        """Run the next token of every sequence, as `feed` does, without looking for padding."""
        positions = np.array([self.seen - begin for begin in self.begins], np.int32)
        sequences = np.array(self.sequences, np.int32)
        sent = SentTokens(ids.numpy()[:, 0].astype(np.int32), positions, sequences, np.ones(len(positions), bool))
        reply = self._reply(sent, meanwhile)
        self.seen += 1
        logits, band, shares = reply.arrays
        self.steps.append(band)  # a tensor is made later: llama.cpp waits between two steps
        if self.kept.part_shares is not None:
            self.kept.part_shares.blocks.append(torch.from_numpy(shares.transpose(2, 0, 1, 3)[:, :, :, None]))
        return torch.from_numpy(logits[:, None])

    def _reply(self, sent: SentTokens, meanwhile: Act) -> Message:
        """What llama.cpp gives for tokens."""
        reply = self._run(sent, meanwhile)
        self.layers = self.layers or tuple(reply.header["layers"])
        return reply

    def _run(self, sent: SentTokens, meanwhile: Act) -> Message:
        arrays = sent.ids, sent.positions, sent.sequences, sent.rows
        return self.process.ask("feed", *arrays, cancel=self.cancel, meanwhile=meanwhile)

    def _placed(self, reply: Message, rows: np.ndarray, batch: int, tail: int) -> Tensor:
        """Logits (B, tail, V), and one more block of the band and of the shares; rows of padding are nan."""
        logits, band, shares = reply.arrays

        def block(given: np.ndarray) -> Tensor:
            placed = np.full((batch, *given.shape[:2], tail, given.shape[-1]), np.nan, np.float32)
            placed[rows[:, 0], :, :, rows[:, 1]] = given.transpose(2, 0, 1, 3)
            return torch.from_numpy(placed)

        self._flush()
        self.blocks.append(block(band))
        if self.kept.part_shares is not None:
            self.kept.part_shares.blocks.append(block(shares))
        placed = np.full((batch, tail, logits.shape[-1]), np.nan, np.float32)
        placed[rows[:, 0], rows[:, 1]] = logits
        return torch.from_numpy(placed)


class JoiningSession(LlamaSession):
    """One sequence that runs together with those of other threads, in a room of the cache that it leaves at its end."""

    def __init__(self, room: Room, layout: Layout, wanted: Wanted, budget: Budget) -> None:
        self.room, self.is_open = room, True
        super().__init__(room.process, layout, wanted, Prefix(), budget)

    def repeat(self, times: int) -> None:
        """See `rauq.capture.session.CaptureSession`.

        Raises:
            InvalidInput: more than once: it has the place of one sequence.
        """
        if times == 1:
            return
        message = (
            f"Got {times} samples of one prompt, where each answer runs together with others. Draw them one by one."
        )
        raise InvalidInput(message)

    def close(self) -> None:
        """See `rauq.capture.session.CaptureSession`."""
        if self.is_open:
            self.is_open = False
            self.room.leave(self.sequences[0])

    def _begin(self, wanted: Wanted, prefix: Prefix, budget: Budget) -> None:
        del prefix, budget
        if len(self.sequences) > 1 or self.kept.part_shares is not None:
            message = (
                f"Got {len(self.sequences)} sequences; where answers run together, each is alone and without parts."
            )
            raise InvalidInput(message)
        self.sequences = [self.room.enter(offsets=wanted.offsets)]

    def _run(self, sent: SentTokens, meanwhile: Act) -> Message:
        return self.room.feed(sent, cancel=self.cancel, meanwhile=meanwhile)


def random_ids(vocab_size: int) -> list[int]:
    """Seeded random tokens, for a check without a prompt."""
    ids: list[int] = np.random.default_rng(0).integers(vocab_size, size=_RANDOM_TOKENS).tolist()
    return ids


def cpu_threads() -> int:
    """How many threads llama.cpp computes with: those of torch, which the settings of this process limit."""
    return min(torch.get_num_threads(), os.cpu_count() or 1)
