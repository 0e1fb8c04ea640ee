"""Traces that come as files: from the file to everything that a page makes of an answer."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from rauq.atlas import recorded
from rauq.errors import RauqError
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace
from tests.robustness.fuzz_engine import Surface
from tests.robustness.fuzz_mutators import spoilt_bytes, spoilt_json
from tests.robustness.surfaces_answers import check_answer
from tests.traces import make_trace

_KEY = "rauq_trace"
_TYPES = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_, np.complex64)
_EXTREMES = (np.nan, np.inf, -np.inf, -1, 0, 2, 1e30)


def trace_files(_folder: Path) -> Surface:
    """Trace files: bytes, the header, the metadata and the arrays of real ones are spoilt."""
    made = [
        make_trace(wrong=(0, 2), extras={"max_attention": np.eye(3), "diagonal": np.ones((4, 6))}),
        make_trace((b"\xf0\x9f", b"\x99\x82 "), kind="instruct", layers=(3, 7), num_layers=9, attention=_two_layers()),
        make_trace((b"one",), stop_reason="given"),
    ]
    recorded_files = sorted(recorded.FOLDER.glob("*.safetensors"))[:2]
    seeds = [*(trace.to_bytes() for trace in made), *(path.read_bytes() for path in recorded_files)]
    return Surface(name="trace files", seeds=seeds, mutate=_spoilt, target=_opened)


def _opened(content: bytes) -> None:
    trace = Trace.from_bytes(content, name="a file")
    again = Trace.from_bytes(trace.to_bytes())
    assert again.to_bytes() == trace.to_bytes()
    for settings in (Settings(layers="all"), Settings(signal="entropy", alignment="own")):
        with suppress(RauqError):  # not every trace has what settings ask for
            check_answer(trace, settings)


def _two_layers() -> np.ndarray:
    return make_trace((b"a", b"b"), num_layers=2).attention


def _spoilt(content: bytes, rng: Random) -> bytes:
    return rng.choice((spoilt_bytes, _in_header, _in_metadata, _in_metadata, _in_arrays))(content, rng)


def _parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    start = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:start]), content[start:]


def _joined(header: Any, data: bytes, rng: Random) -> bytes:
    text = json.dumps(header).encode()
    length = len(text) if rng.random() < 0.95 else rng.choice((0, 1, len(text) - 1, 2**40, 2**64 - 1))
    return length.to_bytes(8, "little") + text + data


def _in_header(content: bytes, rng: Random) -> bytes:
    header, data = _parts(content)
    return _joined(spoilt_json(header, rng), data, rng)


def _in_metadata(content: bytes, rng: Random) -> bytes:
    header, data = _parts(content)
    metadata = spoilt_json(json.loads(header["__metadata__"][_KEY]), rng)
    text = json.dumps(metadata)
    if rng.random() < 0.2:
        text = spoilt_bytes(text.encode(), rng).decode("utf-8", "replace")
    header["__metadata__"][_KEY] = text
    return _joined(header, data, rng)


def _in_arrays(content: bytes, rng: Random) -> bytes:
    """One array of another type or shape, or with a number that no model puts out; lists of the metadata stay."""
    header, _ = _parts(content)
    arrays = load(content)
    name = rng.choice(list(arrays))
    arrays[name] = _spoilt_array(arrays[name], rng)
    return save(arrays, header["__metadata__"])


def _spoilt_array(array: np.ndarray, rng: Random) -> np.ndarray:
    match rng.randrange(5):
        case 0:
            return array.astype(rng.choice(_TYPES))
        case 1:
            return np.ascontiguousarray(array[: rng.randint(0, len(array))])
        case 2:
            return array.reshape(-1)
        case 3:
            return np.ascontiguousarray(np.repeat(array, 2, axis=rng.randrange(array.ndim)))
        case _:
            changed = array.astype(np.float32)
            changed.flat[rng.randrange(array.size)] = rng.choice(_EXTREMES)
            return changed if array.dtype.kind == "f" else changed.astype(np.float64)
