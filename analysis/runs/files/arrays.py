"""The arrays of a shard: attention, probabilities and kept extras of its answers, with a checksum."""

import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from safetensors.numpy import save

from analysis.answer_sets.heads import pick
from analysis.runs.files.tables import Answered
from analysis.runs.manifest import Answerer, Manifest
from rauq.scoring.settings import Settings, window
from rauq.trace.batch import batch
from rauq.trace.extras import BY_LAYER
from rauq.trace.parts import part_of, span_of
from rauq.trace.trace import Alignment, Trace

ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)
OFFSETS = (1, 2, 3, 4, 5, 6)  # the paper's figure 3c

_LARGEST_EXPONENT = 128  # float32 has no larger ones
_MOST_DIMENSIONS = 8  # of an extra; those of this version have four at most
_LARGEST_HALF = float(np.finfo(np.float16).max)


def extras_of(answered: Sequence[Answered], keep: tuple[str, ...], stored: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The kept extras of the answers of a shard, flat, each with its shapes and exponents."""
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


def check_extras(arrays: Any, keep: tuple[str, ...], count: int) -> None:  # noqa: ANN401 - safetensors has no type for it
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


def arrays_of(answered: Sequence[Answered], stored: tuple[int, ...], offsets: int) -> dict[str, np.ndarray]:
    """The arrays of the answers of a shard, by the names that `analysis.runs.files.shards` describes."""
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


_CHECKSUMS, _BLOCK = "crc32", 2**20
_HEADER = 8  # bytes at the beginning of a file of safetensors, which say how long its header is


def with_checksums(arrays: dict[str, np.ndarray], table: bytes) -> bytes:
    """The file of a shard's arrays; it holds the checksum of their bytes, and of the file of the table."""
    # Written here, because safetensors keeps no checksum.
    data = _crc32_of_data(save(arrays))
    return save(arrays, metadata={_CHECKSUMS: f"{data:08x} {zlib.crc32(table):08x}"})


def _crc32_of_data(content: bytes) -> int:
    return zlib.crc32(memoryview(content)[_begin(content) :])  # a slice of bytes would be a copy


def check_bytes(path: Path, metadata: dict[str, str] | None, table: bytes, *, whole: bool) -> None:
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


def layers_to_store(manifest: Manifest, answerer: Answerer) -> tuple[int, ...]:
    """The layers whose weights a run keeps token by token: the paper's window, or all."""
    settings = Settings(layers=manifest.request.stored_layers)
    return window(settings, captured=answerer.layers, num_layers=answerer.num_layers)


def check_arrays(arrays: Any, lengths: np.ndarray, manifest: Manifest, answerer: Answerer) -> None:  # noqa: ANN401 - the same
    """Check that an open file holds the arrays of answers of these `lengths` (n,).

    Only the header of the file is read, and how many answers have tokens that carry a fact.

    Raises:
        ValueError: one is missing, or of another type or shape.
    """
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
