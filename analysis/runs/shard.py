"""A shard of a run: a table of answers, and beside it their attention in half precision.

`answers-00000.parquet` has a row for each example of the shard, failed ones too; `answer` is the text that was judged,
without thinking; `thinking_start` and `thinking_stop` are the first token of the thinking and the first one after it,
both 0 where there is none; `values` and `reasons` are its uncertainties, in the order of the run's methods, and why one
is nan. `traces-00000.safetensors` has arrays over the n answered ones:

- `bands`, flat: for each answer in turn (K, L', H, N + 1), the weights 0 to K - 1 keys back, of the stored layers, K
  being the run's `offsets`, 2 unless it was asked for more;
- `means` (2, 6, n, L, H): by alignment and offset, the mean over the answer part, of all layers that have attention;
- `picks` (2, n, L): by alignment, the head that scoring picks in each layer, from weights in full precision, -1 where
  an answer has no two tokens; runs written before these were stored have none;
- `fact_means` (2, 6, f, L, H), `fact_counts` (6, n): the same over the tokens that carry the fact, and how many; of
  the f answers that have such a token after their first one, or, in runs written before, of all n;
- `logprobs` and `entropies`, flat, float32, in nats.

`extras-00000.safetensors` is there where the run keeps extras of its traces. For each, `NAME` is flat, the arrays of
the n answers in turn, `NAME.shapes` (n, d) says their shapes, and `NAME.exponents` (n,) by which power of two each is
to be multiplied: half precision ends at 65,504, which hidden states of real models exceed. An exponent is 0 where
values stay below that. Values are rounded to 11 bits, those below 6e-5 (times the power) to multiples of 6e-8, so
ranks above 2,048 are not exact. Extras by layer are those of the stored layers.

`methods-ID.parquet` holds a method that was computed later (`analysis.runs.answering`): a row for each example of
the whole run, with the checksum of the answer that the uncertainty is of.

The metadata of a table's schema have a `machine` where the shard was answered on another one than the manifest says.

All files of a shard are written under another name and renamed, the table last: a shard that has its table is whole.
Each file of arrays keeps a checksum of its own, and that of the table.
"""

import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from analysis.answer_sets.heads import pick
from analysis.runs.manifest import FEWEST_OFFSETS, Answerer, Machine, Manifest, write_files
from rauq.errors import RunError
from rauq.methods.method import Uncertainty
from rauq.scoring.settings import Settings, window
from rauq.trace.batch import batch
from rauq.trace.extras import BY_LAYER
from rauq.trace.parts import answer_text, part_of, span_of
from rauq.trace.trace import Alignment, Trace

ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)
OFFSETS = (1, 2, 3, 4, 5, 6)  # the paper's figure 3c
_HERE = Path()
_LARGEST_EXPONENT = 128  # float32 has no larger ones
_MOST_DIMENSIONS = 8  # of an extra; those of this version have four at most
_LARGEST_HALF = float(np.finfo(np.float16).max)

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


def extras_path(folder: Path, shard: int) -> Path:
    """Where the kept extras of a shard are."""
    return folder / f"extras-{shard:05}.safetensors"


def added_path(folder: Path, method: str) -> Path:
    """Where the uncertainties of a method are that was computed later."""
    return folder / f"methods-{method}.parquet"


def write_shard(
    folder: Path,
    shard: int,
    outcomes: Sequence[Answered | Failed],
    *,
    stored: tuple[int, ...],
    offsets: int = FEWEST_OFFSETS,
    keep: tuple[str, ...] = (),
) -> None:
    """Write the files of a shard; the arguments are those of `shard_files`.

    Raises:
        RunError: they cannot be written.
    """
    write_files(folder, shard_files(shard, outcomes, stored=stored, offsets=offsets, keep=keep))


def shard_files(
    shard: int,
    outcomes: Sequence[Answered | Failed],
    *,
    stored: tuple[int, ...],
    offsets: int = FEWEST_OFFSETS,
    keep: tuple[str, ...] = (),
    machine: Machine | None = None,
) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file of a shard, in the order in which they are written.

    `stored` are the layers whose weights are kept token by token, `offsets` keys back. `keep` are the extras that are
    kept; the traces must have them. `machine`: noted in the table if it is not that of the manifest.
    """
    answered = [outcome for outcome in outcomes if isinstance(outcome, Answered)]
    table = _table(outcomes, machine)
    if keep:
        yield extras_path(_HERE, shard).name, with_checksums(_extras(answered, keep, stored), table)
    yield traces_path(_HERE, shard).name, with_checksums(_arrays(answered, stored, offsets), table)
    yield answers_path(_HERE, shard).name, table


def _table(outcomes: Sequence[Answered | Failed], machine: Machine | None) -> bytes:
    schema = SCHEMA if machine is None else SCHEMA.with_metadata({"machine": json.dumps(asdict(machine))})
    table = pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=schema)
    written = pa.BufferOutputStream()
    pq.write_table(table, written, compression="zstd")
    return bytes(written.getvalue().to_pybytes())


def _extras(answered: Sequence[Answered], keep: tuple[str, ...], stored: tuple[int, ...]) -> dict[str, np.ndarray]:
    arrays = {}
    for name in keep if answered else ():
        given = [_of_layers(outcome.trace, name, stored) for outcome in answered]
        exponents = [_exponent(array) for array in given]
        scaled = [np.ldexp(array, -exponent) for array, exponent in zip(given, exponents, strict=True)]
        arrays[name] = _flat(scaled, np.float16)
        arrays[f"{name}.shapes"] = np.array([array.shape for array in given], np.int32)
        arrays[f"{name}.exponents"] = np.array(exponents, np.int16)
    return arrays


def _of_layers(trace: Trace, name: str, stored: tuple[int, ...]) -> np.ndarray:
    """An extra of a trace, of the stored layers alone where it has layers."""
    array = trace.extras[name]
    return array[[trace.layers.index(layer) for layer in stored]] if name in BY_LAYER else array


def _exponent(array: np.ndarray) -> int:
    """The smallest power of two, by its exponent from 0, that brings an array into the range of half precision."""
    largest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    return max(0, math.ceil(math.log2(largest / _LARGEST_HALF))) if largest else 0


def unpacked(flat: np.ndarray, shape: Sequence[int], exponent: int) -> np.ndarray:
    """An extra of one answer as its trace had it, in float32, but for the rounding."""
    return np.ldexp(flat.astype(np.float32), exponent).reshape(shape)


def _check_extras(arrays: Any, keep: tuple[str, ...], count: int) -> None:  # noqa: ANN401 - safetensors has no type for it
    """Check that an open file holds these extras of so many answers; only shapes and exponents are read.

    Raises:
        ValueError: it holds others, or their shapes do not make up what there is.
    """
    parts = ("", ".shapes", ".exponents")
    if set(arrays.keys()) != {f"{name}{part}" for name in keep for part in parts}:
        message = f"its extras are not {', '.join(keep) or 'none'}"
        raise ValueError(message)
    for name in keep:
        slices = [arrays.get_slice(f"{name}{part}") for part in parts]
        kinds, (flat, shapes, exponents) = [each.get_dtype() for each in slices], [each.get_shape() for each in slices]
        fits = (
            len(flat) == 1 and len(shapes) == 2 and shapes[:1] == exponents == [count] and shapes[1] <= _MOST_DIMENSIONS
        )
        if kinds != ["F16", "I32", "I16"] or not fits:
            message = f"its extra {name} is not that of {count} answers"
            raise ValueError(message)
        lengths, powers = (arrays.get_tensor(f"{name}{part}") for part in parts[1:])
        total = sum(math.prod(shape) for shape in lengths.tolist())  # in Python, where no product overflows
        if (lengths < 1).any() or [total] != flat or ((powers < 0) | (powers > _LARGEST_EXPONENT)).any():
            message = f"its extra {name} has {flat[0]:,} numbers, which its shapes and exponents do not fit"
            raise ValueError(message)


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


def _arrays(answered: Sequence[Answered], stored: tuple[int, ...], offsets: int) -> dict[str, np.ndarray]:
    traces = [outcome.trace for outcome in answered]
    arrays = {
        "bands": _flat([_bands(trace, stored, offsets) for trace in traces], np.float16),
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


def _bands(trace: Trace, stored: tuple[int, ...], offsets: int) -> np.ndarray:
    """(K, L', H, N + 1)."""
    rows = [trace.layers.index(layer) for layer in stored]
    return np.moveaxis(trace.attention[rows, :, :, :offsets], -1, 0)


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


_CHECKSUMS, _BLOCK = "crc32", 2**20
_HEADER = 8  # bytes at the beginning of a file of safetensors, which say how long its header is


def with_checksums(arrays: dict[str, np.ndarray], table: bytes) -> bytes:
    """The file of a shard's arrays; it holds the checksum of their bytes, and of the file of the table."""
    # Ours, because safetensors keeps no checksum.
    data = _crc32_of_data(save(arrays))
    return save(arrays, metadata={_CHECKSUMS: f"{data:08x} {zlib.crc32(table):08x}"})


def _crc32_of_data(content: bytes) -> int:
    return zlib.crc32(memoryview(content)[_begin(content) :])  # a slice of bytes would be a copy


def _check_bytes(path: Path, metadata: dict[str, str] | None, table: bytes, *, whole: bool) -> None:
    """See that the table and the arrays at `path` are, bit by bit, what was written; older runs do not say.

    Raises:
        ValueError: one of them is not.
        OSError: the arrays cannot be read.
    """
    written = (metadata or {}).get(_CHECKSUMS)
    if written is None:
        return
    data, of_table = written.split()
    if f"{zlib.crc32(table):08x}" != of_table:
        message = "its table was changed after it was written"
        raise ValueError(message)
    if whole and f"{_crc32(path):08x}" != data:
        message = f"{path.name} was changed after it was written"
        raise ValueError(message)


def _crc32(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        file.seek(_begin(file.read(_HEADER)))
        while chunk := file.read(_BLOCK):
            found = zlib.crc32(chunk, found)
    return found


def _begin(content: bytes) -> int:
    return _HEADER + int.from_bytes(content[:_HEADER], "little")


UNREADABLE = (OSError, pa.ArrowException, SafetensorError, ValueError, KeyError)


def layers_to_store(manifest: Manifest, answerer: Answerer) -> tuple[int, ...]:
    """The layers whose weights a run keeps token by token: the paper's window, or all."""
    settings = Settings(layers=manifest.request.stored_layers)
    return window(settings, captured=answerer.layers, num_layers=answerer.num_layers)


def read_table(folder: Path, manifest: Manifest, answerer: Answerer, shard: int, *, whole: bool = True) -> pa.Table:
    """Read the table of a shard, and see whether its arrays are there, are what was written, and belong to it.

    Unless it is to be `whole`, its arrays are not compared with their checksum; the table always is.

    Raises:
        RunError: one of the files is missing, broken or of other examples.
    """
    path, numbers = answers_path(folder, shard), manifest.numbers(shard)
    if not path.exists():
        message = f"The answers {numbers.start} to {numbers.stop - 1} are missing: resume the run to compute them."
        raise RunError(message)
    try:
        written, traces = path.read_bytes(), traces_path(folder, shard)
        table = read_columns(pa.BufferReader(written), LIGHT)
        _check_rows(table, numbers, manifest.request.methods)
        lengths = _answered(table)["num_tokens"].to_numpy().astype(np.int64)
        with safe_open(traces, framework="np") as arrays:
            _check_bytes(traces, arrays.metadata(), written, whole=whole)
            _check_arrays(arrays, lengths, manifest, answerer)
        if manifest.request.keep:
            extras = extras_path(folder, shard)
            with safe_open(extras, framework="np") as arrays:
                _check_bytes(extras, arrays.metadata(), written, whole=whole)
                _check_extras(arrays, manifest.request.keep if len(lengths) else (), len(lengths))
    except UNREADABLE as error:
        message = (
            f"Shard {shard} of {folder.name} is broken ({error}): the answers {numbers.start} to {numbers.stop - 1} "
            "are left out. Resume the run to answer them again."
        )
        raise RunError(message) from error
    return table


def _answered(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(table["error"], ""))


def _check_rows(table: pa.Table, numbers: range, methods: tuple[str, ...]) -> None:
    if table["number"].to_pylist() != list(numbers):
        message = f"its examples are not {numbers.start} to {numbers.stop - 1}"
        raise ValueError(message)
    answered = _answered(table)
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


def _check_arrays(arrays: Any, lengths: np.ndarray, manifest: Manifest, answerer: Answerer) -> None:  # noqa: ANN401 - the same
    """Only the header of the file is read here, and how many answers have tokens that carry a fact."""
    stored = layers_to_store(manifest, answerer)
    num_tokens, num_bands = int(lengths.sum()), manifest.request.offsets * len(stored) * answerer.num_heads
    means = [len(ALIGNMENTS), len(OFFSETS), len(lengths), len(answerer.layers), answerer.num_heads]
    expected = {
        "bands": ("F16", [(num_tokens + len(lengths)) * num_bands]),
        "logprobs": ("F32", [num_tokens]),
        "entropies": ("F32", [num_tokens]),
        "means": ("F16", means),
        "picks": ("I16", [len(ALIGNMENTS), len(lengths), len(answerer.layers)]),
        "fact_counts": ("I32", [len(OFFSETS), len(lengths)]),
        "fact_means": ("F16", means),
    }
    there = set(arrays.keys())
    needed = {"bands", "logprobs", "entropies", *(["means"] if len(lengths) else [])}
    for name, (dtype, shape) in expected.items():
        if name in there | needed:
            found = arrays.get_slice(name)
            if name == "fact_means" and found.get_shape() != means:
                shape = [*means[:2], with_fact(arrays.get_tensor("fact_counts")).size, *means[3:]]  # noqa: PLW2901
            if (found.get_dtype(), found.get_shape()) != (dtype, shape):
                message = f"{name} is {found.get_dtype()} of shape {found.get_shape()}, not {dtype} of {shape}"
                raise ValueError(message)
    if ("fact_means" in there) != ("fact_counts" in there):
        message = "it has only one of fact_means and fact_counts"
        raise ValueError(message)
