"""Answers of a run as traces, as if they had just been generated.

A trace has the layers, the offsets and the extras that the run stored: weights of keys further back are nan, and
weights and extras are in half precision (`analysis.runs.files.shards`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from safetensors import safe_open

from analysis.runs.attention import Arrays, answers_of
from analysis.runs.files.arrays import unpacked
from analysis.runs.files.index import compare_once
from analysis.runs.files.shards import UNREADABLE
from analysis.runs.files.tables import HEAVY, read_columns
from analysis.runs.manifest import answers_path, extras_path
from analysis.runs.opened import Run, Shard
from rauq.errors import InvalidInput, RunError
from rauq.labels import TRANSFORMERS
from rauq.trace.parts import pieces_with_text
from rauq.trace.trace import NUM_BANDS as ALL_BANDS
from rauq.trace.trace import Alternative, Trace

_FACT = pa.schema([HEAVY.field("fact")])
_ANSWER_IDS = pa.schema([HEAVY.field("answer_ids")])
_TOKENS = pa.schema([HEAVY.field(name) for name in ("answer_tokens", "pieces", "fact")])


class Tokens(NamedTuple):
    """The N tokens of an answer's answer part: `texts`, and which of them show text and which carry the fact (N,)."""

    texts: tuple[str, ...]
    shown: np.ndarray
    fact: np.ndarray


def trace(run: Run, row: int) -> Trace:
    """The answer of a row of the table as a trace.

    Raises:
        InvalidInput: there is no such row.
        RunError: its shard can no longer be read.
    """
    return next(traces_of(run, (row,)))


def traces_of(run: Run, rows: Iterable[int] | None = None) -> Iterator[Trace]:
    """The answers of these rows of the table as traces, in the order of the rows; None: all of them.

    What is in memory at a time is one shard's attention, and the extras of one answer. Rows in ascending order read
    each shard once.

    Raises:
        InvalidInput: there is no such row.
        RunError: a shard can no longer be read, or its parts make no traces.

    Example:
        >>> run = analysis.open_run(analysis.bundled_folder())
        >>> next(analysis.traces_of(run)).num_layers
        30
    """
    chosen = range(len(run.answers)) if rows is None else rows
    for shard, own in groupby(chosen, key=partial(_shard_of, run)):
        yield from _traces(run, shard, [row - shard.start for row in own])


def traces_in(run: Run, shard: Shard) -> Iterator[Trace]:
    """The answers of a shard as traces, in the order of the run's table.

    Raises:
        RunError: the shard can no longer be read, or its parts make no traces.
    """
    return _traces(run, shard, range(shard.size))


def _traces(run: Run, shard: Shard, places: Sequence[int]) -> Iterator[Trace]:
    """The answers at these places of a shard."""
    heavy, arrays = _heavy_rows(run, shard), list(answers_of(run, (shard,)))
    for place, extras in zip(places, _extras(run, shard, places), strict=True):
        try:
            found = _trace(run, shard.start + place, heavy[place], arrays[place], extras)
        except (TypeError, ValueError) as error:
            raise _damaged(run, shard, str(error)) from error
        yield found


def _extras(run: Run, shard: Shard, places: Sequence[int]) -> Iterator[dict[str, np.ndarray]]:
    """The kept extras of the answers at these places of a shard, read one answer at a time."""
    keep = run.manifest.request.keep
    if not (keep and places):
        yield from ({} for _ in places)
        return
    try:
        with safe_open(extras_path(run.folder, shard.number), framework="np") as file:
            readers = [_ExtraReader(file, name) for name in keep]
            for place in places:
                yield {reader.name: reader.read(place) for reader in readers}
    except UNREADABLE as error:
        raise _no_longer_read(run, shard, error) from error


class _ExtraReader:
    """One extra of all answers of a shard, in an open file."""

    def __init__(self, file: Any, name: str) -> None:  # noqa: ANN401 - safetensors has no type for it
        self.name = name
        self.flat = file.get_slice(name)
        self.shapes, self.exponents = (file.get_tensor(f"{name}.{part}").tolist() for part in ("shapes", "exponents"))
        self.ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])

    def read(self, place: int) -> np.ndarray:
        """That of one answer."""
        shape, end = self.shapes[place], int(self.ends[place])
        return unpacked(self.flat[end - int(np.prod(shape)) : end], shape, self.exponents[place])


def fact_tokens(run: Run, row: int) -> np.ndarray:
    """Which tokens of an answer carry the fact, as far as that is known: (N,), True where they do.

    Raises:
        InvalidInput: there is no such row.
        RunError: its shard can no longer be read.
    """
    shard = _shard_of(run, row)
    return facts_in(run, shard)[row - shard.start]


def facts_in(run: Run, shard: Shard) -> list[np.ndarray]:
    """Which tokens of each of a shard's answers carry the fact.

    Raises:
        RunError: the shard can no longer be read, or says it of other tokens than there are.
    """
    facts = [np.array(heavy["fact"], dtype=bool) for heavy in _heavy_rows(run, shard, _FACT)]
    lengths = run.lengths[shard.start : shard.start + shard.size]
    if any(fact.shape != (length,) for fact, length in zip(facts, lengths, strict=True)):
        raise _damaged(run, shard, "its fact tokens differ from those of the table")
    return facts


def fact_masks(run: Run) -> np.ndarray:
    """Which tokens of every answer's answer part carry the fact: (A, N), N of the longest, False beyond its own.

    Raises:
        RunError: a shard can no longer be read.
    """
    starts = run.part_starts
    masks = np.zeros((len(run.answers), int(np.maximum(run.lengths - starts, 1).max(initial=0))), dtype=bool)
    for shard in run.shards:
        for row, fact in enumerate(facts_in(run, shard), start=shard.start):
            masks[row, : len(fact) - starts[row]] = fact[starts[row] :]
    return masks


def answer_ids(run: Run) -> list[np.ndarray]:
    """The token ids (N,) of every answer's answer part; none where it has no such part.

    Raises:
        RunError: a shard can no longer be read.
    """
    starts, rows = run.part_starts, (row for shard in run.shards for row in _heavy_rows(run, shard, _ANSWER_IDS))
    return [np.array(row["answer_ids"], dtype=np.int64)[start:] for row, start in zip(rows, starts, strict=True)]


def tokens(run: Run) -> list[Tokens]:
    """The tokens of every answer's answer part; none where it has no such part.

    Raises:
        RunError: a shard can no longer be read.
    """
    heavy = (row for shard in run.shards for row in _heavy_rows(run, shard, _TOKENS))
    return [
        _tokens(row, start, ended=stop_reason == "eos")
        for row, start, stop_reason in zip(heavy, run.part_starts.tolist(), run.answers["stop_reason"], strict=True)
    ]


def _tokens(heavy: dict[str, Any], start: int, *, ended: bool) -> Tokens:
    texts = heavy["answer_tokens"]
    shown = pieces_with_text(heavy["pieces"], ended=ended and not texts[-1])
    return Tokens(tuple(texts[start:]), shown[start:], np.array(heavy["fact"], dtype=bool)[start:])


def _trace(run: Run, row: int, heavy: dict[str, Any], arrays: Arrays, extras: dict[str, np.ndarray]) -> Trace:
    offsets = len(arrays.bands)
    attention = np.full((*arrays.bands.shape[1:], max(offsets, ALL_BANDS)), np.nan, np.float32)
    attention[..., :offsets] = np.moveaxis(arrays.bands, 0, -1)
    return Trace(
        prompt=run.answers["prompt"].iloc[row],
        model=run.answerer.name,
        revision=run.answerer.revision,
        dtype=run.answerer.dtype,
        quantisation=run.answerer.quantisation,
        adapter=run.answerer.adapter,
        engine=run.answerer.engine or TRANSFORMERS,
        kind=run.answerer.kind,
        chat_applied=heavy["chat_applied"],
        stop_reason=run.answers["stop_reason"].iloc[row],
        layers=run.stored_layers,
        num_layers=run.answerer.num_layers,
        vocab_size=run.answerer.vocab_size,
        prompt_ids=np.array(heavy["prompt_ids"], dtype=np.int64),
        answer_ids=np.array(heavy["answer_ids"], dtype=np.int64),
        answer_tokens=tuple(heavy["answer_tokens"]),
        pieces=tuple(heavy["pieces"]),
        logprobs=arrays.logprobs,
        entropies=arrays.entropies,
        alternatives=_alternatives(heavy),
        attention=attention,
        extras=extras,
        thinking=_thinking(run, row),
    )


def _thinking(run: Run, row: int) -> tuple[int, int] | None:
    start, stop = (int(run.answers[name].iloc[row]) for name in ("thinking_start", "thinking_stop"))
    return (start, stop) if stop else None


def _damaged(run: Run, shard: Shard, why: str) -> RunError:
    return RunError(
        f"Shard {shard.number} of {run.folder.name} contains an invalid answer ({why}). Restore it from a copy of the "
        "run."
    )


def _shard_of(run: Run, row: int) -> Shard:
    if 0 <= row < len(run.answers):  # of shards that begin at one row, all but the last have no answer
        return run.shards[bisect_right(run.shards, row, key=attrgetter("start")) - 1]
    message = f"There is no answer {row}: this run has {len(run.answers)}, counted from 0."
    raise InvalidInput(message)


def _heavy_rows(run: Run, shard: Shard, schema: pa.Schema = HEAVY) -> list[dict[str, Any]]:
    """What a shard's table has of its answers beyond the run's table, failed ones left out."""
    start = run.manifest.numbers(shard.number).start
    chosen = run.answers["number"].iloc[shard.start : shard.start + shard.size] - start
    try:
        if run.is_indexed:
            compare_once(run.folder, run.manifest, run.answerer, shard.number)
        table = read_columns(answers_path(run.folder, shard.number), schema)
        rows: list[dict[str, Any]] = table.take(pa.array(chosen)).to_pylist()
    except (*UNREADABLE, IndexError) as error:
        raise _no_longer_read(run, shard, error) from error
    return rows


def _no_longer_read(run: Run, shard: Shard, error: Exception) -> RunError:
    return RunError(f"Shard {shard.number} of {run.folder.name} can no longer be read ({error}). Open the run again.")


def _alternatives(heavy: dict[str, Any]) -> tuple[tuple[Alternative, ...], ...]:
    columns = (heavy[f"alternative_{name}"] for name in ("ids", "texts", "logprobs"))
    return tuple(tuple(map(Alternative, *row)) for row in zip(*columns, strict=True))
