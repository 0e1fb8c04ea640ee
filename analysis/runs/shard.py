"""A shard of a run: a table of answers, and beside it their attention in half precision.

`answers-00000.parquet` has a row for each example of the shard, failed ones too; `answer` is the text that was judged,
without thinking; `thinking_start` and `thinking_stop` are the first token of the thinking and the first one after it,
both 0 where there is none; `values` and `reasons` are its uncertainties, in the order of the run's methods, and why one
is nan. `traces-00000.safetensors` has arrays over the n answered ones:

- `bands`, flat: for each answer in turn (2, L', H, N + 1), the weights 0 and 1 keys back, of the stored layers;
- `means` (2, 6, n, L, H): by alignment and offset, the mean over the answer part, of all layers that have attention;
- `picks` (2, n, L): by alignment, the head that scoring picks in each layer, from weights in full precision, -1 where
  an answer has no two tokens; runs written before these were stored have none;
- `fact_means` (2, 6, f, L, H), `fact_counts` (6, n): the same over the tokens that carry the fact, and how many; of
  the f answers that have such a token after their first one, or, in runs written before, of all n;
- `logprobs` and `entropies`, flat, float32, in nats.

Both files are written under another name and renamed, the table last: a shard that has its table is whole. The
arrays' file keeps the checksums of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.answer_sets.heads import pick
from analysis.runs.files import with_checksums
from analysis.runs.manifest import write_whole
from rauq.methods.method import Uncertainty
from rauq.trace.batch import batch
from rauq.trace.parts import answer_text, part_of, span_of
from rauq.trace.trace import Alignment, Trace

ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)
OFFSETS = (1, 2, 3, 4, 5, 6)  # the paper's figure 3c
NUM_BANDS = 2

_IDS, _TEXTS = pa.list_(pa.int32()), pa.list_(pa.string())
LIGHT = pa.schema(
    [
        ("number", pa.int32()),
        ("error", pa.string()),
        ("answer", pa.string()),
        ("num_tokens", pa.int32()),
        ("num_fact_tokens", pa.int32()),
        ("stop_reason", pa.string()),
        ("thinking_start", pa.int32()),
        ("thinking_stop", pa.int32()),
        ("quality", pa.float64()),
        ("quality_reason", pa.string()),
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
_OLDER_RUNS_LACK = ("thinking_start", "thinking_stop")


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """An example's answer: its trace, the tokens that carry the fact (N,), its quality and its uncertainties.

    `uncertainties` are in the order of the run's methods.
    """

    number: int
    trace: Trace
    fact: np.ndarray
    quality: float
    quality_reason: str
    uncertainties: tuple[Uncertainty, ...]


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
    missing_needs = [name for name in schema.names if name in _OLDER_RUNS_LACK and name not in file.schema_arrow.names]
    table = file.read(columns=[name for name in schema.names if name not in missing_needs])
    for name in missing_needs:
        table = table.append_column(name, pa.array(np.zeros(len(table), dtype=np.int32)))
    return table.select(schema.names).cast(schema)


def answers_path(folder: Path, shard: int) -> Path:
    """Where the table of a shard is."""
    return folder / f"answers-{shard:05}.parquet"


def traces_path(folder: Path, shard: int) -> Path:
    """Where the arrays of a shard are."""
    return folder / f"traces-{shard:05}.safetensors"


def write_shard(folder: Path, shard: int, outcomes: Sequence[Answered | Failed], *, stored: tuple[int, ...]) -> None:
    """Write both files of a shard; `stored` are the layers whose weights are kept token by token.

    Raises:
        RunError: they cannot be written.
    """
    answered = [outcome for outcome in outcomes if isinstance(outcome, Answered)]
    table = _table(outcomes)
    arrays = with_checksums(_arrays(answered, stored), table)
    write_whole(traces_path(folder, shard), lambda path: path.write_bytes(arrays))
    write_whole(answers_path(folder, shard), lambda path: path.write_bytes(table))


def _table(outcomes: Sequence[Answered | Failed]) -> bytes:
    table = pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=SCHEMA)
    written = pa.BufferOutputStream()
    pq.write_table(table, written, compression="zstd")
    return bytes(written.getvalue().to_pybytes())


def _arrays(answered: Sequence[Answered], stored: tuple[int, ...]) -> dict[str, np.ndarray]:
    traces = [outcome.trace for outcome in answered]
    arrays = {
        "bands": _flat([_bands(trace, stored) for trace in traces], np.float16),
        "logprobs": _flat([trace.logprobs for trace in traces], np.float32),
        "entropies": _flat([trace.entropies for trace in traces], np.float32),
    }
    parts = [part_of(trace, "answer") for trace in traces]
    facts = [outcome.fact[slice(*span_of(outcome.trace.thinking, len(outcome.fact), "answer"))] for outcome in answered]
    if traces:
        arrays["means"] = _means(traces, parts, [np.ones(len(fact), dtype=bool) for fact in facts])
        arrays["picks"] = np.array(
            [[_picks(trace, alignment) for trace in traces] for alignment in ALIGNMENTS], np.int16
        )
    counts = np.array([[fact[offset:].sum() for fact in facts] for offset in OFFSETS], np.int32)
    if (some := with_fact(counts)).size:
        arrays["fact_means"] = _means(*([each[i] for i in some] for each in (traces, parts, facts)))
        arrays["fact_counts"] = counts
    return arrays


def with_fact(counts: np.ndarray) -> np.ndarray:
    """Which answers have a mean over tokens that carry the fact (f,), from `fact_counts` (6, n)."""
    return np.flatnonzero(counts[0])


def _bands(trace: Trace, stored: tuple[int, ...]) -> np.ndarray:
    """(2, L', H, N + 1)."""
    rows = [trace.layers.index(layer) for layer in stored]
    return np.moveaxis(trace.attention[rows, :, :, :NUM_BANDS], -1, 0)


def _picks(trace: Trace, alignment: Alignment) -> np.ndarray:
    """The head that scoring picks in each layer (L,), -1 where there is none."""
    return pick(batch([trace], alignment).head_means(trace.layers)[0])


def _means(traces: Sequence[Trace], parts: Sequence[Trace | None], chosen: Sequence[np.ndarray]) -> np.ndarray:
    """Mean weight over the chosen tokens of each trace's answer part (2, 6, n, L, H); nan where there is none."""
    means = np.full((len(ALIGNMENTS), len(OFFSETS), len(traces), *traces[0].attention.shape[:2]), np.nan, np.float16)
    for a, alignment in enumerate(ALIGNMENTS):
        for o, offset in enumerate(OFFSETS):
            for i, (trace, tokens) in enumerate(zip(parts, chosen, strict=True)):
                inside = np.flatnonzero(tokens[offset:]) + offset - 1  # for the first tokens the key is in the prompt
                if trace is not None and inside.size:
                    weights = trace.previous_token_attention(alignment, offset)[..., inside]
                    means[a, o, i] = weights.mean(axis=-1, dtype=np.float64)
    return means


def _flat(parts: Sequence[np.ndarray], dtype: type[np.floating]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *(part.astype(dtype).ravel() for part in parts)])


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
        "thinking_start": (trace.thinking or (0, 0))[0],
        "thinking_stop": (trace.thinking or (0, 0))[1],
        "quality": outcome.quality,
        "quality_reason": outcome.quality_reason,
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
