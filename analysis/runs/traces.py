"""One answer of a run as a trace, as if it had just been generated."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analysis.runs.opened import UNREADABLE, Arrays, Run, Shard, answers_of
from analysis.runs.shard import HEAVY, NUM_BANDS, answers_path, read_columns
from rauq.errors import InvalidInput, RunError
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
    """The answer of a row of the table as a trace of the stored layers; weights of keys further back are nan.

    Raises:
        InvalidInput: there is no such row.
        RunError: its shard can no longer be read.
    """
    shard = _shard_of(run, row)
    return next(islice(traces_in(run, shard), row - shard.start, None))


def traces_in(run: Run, shard: Shard) -> Iterator[Trace]:
    """The answers of a shard as traces, in the order of the run's table.

    Raises:
        RunError: the shard can no longer be read, or its parts make no traces.
    """
    rows = range(shard.start, shard.start + shard.size)
    for row, heavy, arrays in zip(rows, _heavy_rows(run, shard), answers_of(run, (shard,)), strict=True):
        try:
            found = _trace(run, row, heavy, arrays)
        except (TypeError, ValueError) as error:
            raise _damaged(run, shard, str(error)) from error
        yield found


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


def _trace(run: Run, row: int, heavy: dict[str, Any], arrays: Arrays) -> Trace:
    attention = np.full((*arrays.bands.shape[1:], ALL_BANDS), np.nan, np.float32)
    attention[..., :NUM_BANDS] = np.moveaxis(arrays.bands, 0, -1)
    return Trace(
        prompt=run.answers["prompt"].iloc[row],
        model=run.answerer.name,
        revision=run.answerer.revision,
        dtype=run.answerer.dtype,
        quantisation=run.answerer.quantisation,
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
    for shard in run.shards:
        if shard.start <= row < shard.start + shard.size:
            return shard
    message = f"There is no answer {row}: this run has {len(run.answers)}, counted from 0."
    raise InvalidInput(message)


def _heavy_rows(run: Run, shard: Shard, schema: pa.Schema = HEAVY) -> list[dict[str, Any]]:
    """What a shard's table has of its answers beyond the run's table, failed ones left out."""
    start = run.manifest.numbers(shard.number).start
    chosen = run.answers["number"].iloc[shard.start : shard.start + shard.size] - start
    try:
        table = read_columns(answers_path(run.folder, shard.number), schema)
        rows: list[dict[str, Any]] = table.take(pa.array(chosen)).to_pylist()
    except (*UNREADABLE, IndexError) as error:
        message = f"Shard {shard.number} of {run.folder.name} can no longer be read ({error}). Open the run again."
        raise RunError(message) from error
    return rows


def _alternatives(heavy: dict[str, Any]) -> tuple[tuple[Alternative, ...], ...]:
    columns = (heavy[f"alternative_{name}"] for name in ("ids", "texts", "logprobs"))
    return tuple(tuple(map(Alternative, *row)) for row in zip(*columns, strict=True))
