"""One answer of a run as a trace, as if it had just been generated."""

from typing import Any

import numpy as np
import pyarrow.parquet as pq

from analysis.runs.arrays import answers_of
from analysis.runs.opened import UNREADABLE, Run, Shard
from analysis.runs.shard import HEAVY, NUM_BANDS, answers_path
from rauq.errors import InvalidInput, RunError
from rauq.trace import NUM_BANDS as ALL_BANDS
from rauq.trace import Alternative, Trace


def trace(run: Run, row: int) -> Trace:
    """The answer of a row of the table as a trace of the stored layers; weights of keys further back are nan.

    Raises:
        InvalidInput: there is no such row.
        RunError: its shard can no longer be read.
    """
    shard = _shard_of(run, row)
    heavy = _heavy_row(run, shard, row)
    found = list(answers_of(run, (shard,)))[row - shard.start]
    attention = np.full((*found.bands.shape[1:], ALL_BANDS), np.nan, np.float32)
    attention[..., :NUM_BANDS] = np.moveaxis(found.bands, 0, -1)
    return Trace(
        prompt=run.answers["prompt"].iloc[row],
        model=run.answerer.name,
        revision=run.answerer.revision,
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
        logprobs=found.logprobs,
        entropies=found.entropies,
        alternatives=_alternatives(heavy),
        attention=attention,
    )


def fact_tokens(run: Run, row: int) -> np.ndarray:
    """Which tokens of an answer carry the fact, as far as that is known: (N,), True where they do.

    Raises:
        InvalidInput: there is no such row.
        RunError: its shard can no longer be read.
    """
    return np.array(_heavy_row(run, _shard_of(run, row), row)["fact"], dtype=bool)


def _shard_of(run: Run, row: int) -> Shard:
    for shard in run.shards:
        if shard.start <= row < shard.start + shard.size:
            return shard
    message = f"There is no answer {row}: this run has {len(run.answers)}, counted from 0."
    raise InvalidInput(message)


def _heavy_row(run: Run, shard: Shard, row: int) -> dict[str, Any]:
    place = int(run.answers["number"].iloc[row]) - run.manifest.numbers(shard.number).start
    try:
        table = pq.read_table(answers_path(run.folder, shard.number), columns=HEAVY.names)
        return dict(table.slice(place, 1).to_pylist()[0])
    except (*UNREADABLE, IndexError) as error:
        message = f"Shard {shard.number} of {run.folder.name} can no longer be read ({error}). Open the run again."
        raise RunError(message) from error


def _alternatives(heavy: dict[str, Any]) -> tuple[tuple[Alternative, ...], ...]:
    columns = (heavy[f"alternative_{name}"] for name in ("ids", "texts", "logprobs"))
    return tuple(tuple(map(Alternative, *row)) for row in zip(*columns, strict=True))
