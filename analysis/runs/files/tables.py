"""The table of a shard: a row for each of its examples, and the rows of a method that was computed later."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.runs.manifest import Machine, added_path
from rauq.methods.method import Uncertainty
from rauq.trace.parts import answer_text
from rauq.trace.trace import Trace

_THINKING = ("thinking_start", "thinking_stop")
_IDS, _TEXTS = pa.list_(pa.int32()), pa.list_(pa.string())
LIGHT = pa.schema(
    [
        ("number", pa.int32()),
        *((name, pa.string()) for name in ("error", "answer")),
        *((name, pa.int32()) for name in ("num_tokens", "num_fact_tokens")),
        ("stop_reason", pa.string()),
        *((name, pa.int32()) for name in _THINKING),
        ("quality", pa.float64()),
        ("quality_reason", pa.string()),
        ("unclear", pa.bool_()),
        ("values", pa.list_(pa.float64())),
        ("reasons", _TEXTS),
    ]
)
HEAVY = pa.schema(
    [
        ("chat_applied", pa.bool_()),
        ("prompt_ids", _IDS),
        ("answer_ids", _IDS),
        ("answer_tokens", _TEXTS),
        ("pieces", pa.list_(pa.binary())),
        ("fact", pa.list_(pa.bool_())),
        ("alternative_ids", pa.list_(_IDS)),
        ("alternative_texts", pa.list_(_TEXTS)),
        ("alternative_logprobs", pa.list_(pa.list_(pa.float32()))),
    ]
)
SCHEMA = pa.schema([*LIGHT, *HEAVY])
ADDED = pa.schema(
    [("number", pa.int32()), ("answer_crc32", pa.uint32()), ("value", pa.float64()), ("reason", pa.string())]
)
_OLDER_RUNS_LACK = (*_THINKING, "unclear")


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """An example's answer: its trace, the tokens that carry the fact (N,), its quality and its uncertainties.

    `uncertainties` are in the order of the run's methods. `unclear`: its quality is nan until somebody reads it.
    """

    number: int
    trace: Trace
    fact: np.ndarray
    quality: float
    quality_reason: str
    uncertainties: tuple[Uncertainty, ...]
    unclear: bool = False


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An example that has no answer, and why."""

    number: int
    error: str


def read_columns(source: Any, schema: pa.Schema) -> pa.Table:  # noqa: ANN401 - a path, or an open buffer
    """The columns of a shard's table that are in `schema`; those that older runs lack are 0.

    Raises:
        OSError, pa.ArrowException, ValueError: the table cannot be read, or lacks another column.
    """
    file = pq.ParquetFile(source)
    lacking = [name for name in schema.names if name in _OLDER_RUNS_LACK and name not in file.schema_arrow.names]
    table = file.read(columns=[name for name in schema.names if name not in lacking])
    for name in lacking:
        table = table.append_column(name, pa.array(np.zeros(len(table), dtype=np.int32)))
    return table.select(schema.names).cast(schema)


def table_bytes(outcomes: Sequence[Answered | Failed], machine: Machine | None) -> bytes:
    """The file of a shard's table; a `machine` is noted in it."""
    schema = SCHEMA if machine is None else SCHEMA.with_metadata({"machine": json.dumps(asdict(machine))})
    table = pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=schema)
    written = pa.BufferOutputStream()
    pq.write_table(table, written, compression="zstd")
    return bytes(written.getvalue().to_pybytes())


def read_added(folder: Path, method: str) -> pa.Table:
    """The uncertainties of a method that was computed later.

    Raises:
        OSError, pa.ArrowException, ValueError: they cannot be read, or are not what such a file holds.
    """
    table = pq.read_table(added_path(folder, method), schema=ADDED, page_checksum_verification=True)
    numbers, values, reasons = (table[name] for name in ("number", "value", "reason"))
    undefined = [math.isnan(value) for value in values.to_pylist() if value is not None]
    if any(column.null_count for column in table.itercolumns()) or pc.count_distinct(numbers).as_py() < len(numbers):
        message = "a row has no value, or two are of one example"
        raise ValueError(message)
    if undefined != [reason != "" for reason in reasons.to_pylist()]:
        message = "a value is undefined without a reason, or has one and is defined"
        raise ValueError(message)
    return table


def _row(outcome: Answered | Failed) -> dict[str, Any]:
    if isinstance(outcome, Failed):
        return {"number": outcome.number, "error": outcome.error}
    trace = outcome.trace
    return {
        "number": outcome.number,
        "error": "",
        "answer": answer_text(trace),
        "num_tokens": len(trace.answer_ids),
        "num_fact_tokens": int(outcome.fact.sum()),
        "stop_reason": trace.stop_reason,
        **dict(zip(_THINKING, trace.thinking or (0, 0), strict=True)),
        "quality": outcome.quality,
        "quality_reason": outcome.quality_reason,
        "unclear": outcome.unclear,
        "values": outcome.uncertainties,
        "reasons": [uncertainty.reason for uncertainty in outcome.uncertainties],
        "chat_applied": trace.chat_applied,
        "prompt_ids": trace.prompt_ids,
        "answer_ids": trace.answer_ids,
        "answer_tokens": trace.answer_tokens,
        "pieces": trace.pieces,
        "fact": outcome.fact,
        "alternative_ids": [[entry.id for entry in row] for row in trace.alternatives],
        "alternative_texts": [[entry.text for entry in row] for row in trace.alternatives],
        "alternative_logprobs": [[entry.logprob for entry in row] for row in trace.alternatives],
    }


def answered_in(table: pa.Table) -> pa.Table:
    """The rows of the examples that have an answer."""
    return table.filter(pc.equal(table["error"], ""))


def check_rows(table: pa.Table, numbers: range, methods: tuple[str, ...]) -> None:
    """Check that a table has the rows of these examples, with an uncertainty for each method.

    Raises:
        ValueError: it has others, or a row that no answer can have.
    """
    if table["number"].to_pylist() != list(numbers):
        message = f"its examples are not {numbers.start} to {numbers.stop - 1}"
        raise ValueError(message)
    answered = answered_in(table)
    lists = [answered[name] for name in ("values", "reasons")]
    columns = (table["error"], *answered.columns, *map(pc.list_flatten, lists))
    start, stop, count = (answered[name].to_numpy() for name in ("thinking_start", "thinking_stop", "num_tokens"))
    if any(column.null_count for column in columns) or not (count >= 1).all():
        message = "it has an answer without a token, or without a part of its row"
        raise ValueError(message)
    if not (((start == 0) & (stop == 0)) | ((start >= 0) & (start < stop) & (stop <= count))).all():
        message = "it has an answer whose thinking span is outside the answer"
        raise ValueError(message)
    if any(pc.list_value_length(column).to_pylist() != [len(methods)] * len(answered) for column in lists):
        message = f"it has other uncertainties than {', '.join(methods)}"
        raise ValueError(message)
