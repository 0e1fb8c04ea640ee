"""Malformed inputs made from valid ones: bytes, texts, JSON, safetensors and Parquet, with faults of real files."""

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from tests.hostile import ATTACK

_BYTES = (
    *(b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b'"', b"'", b"\\", b",", b";", b"\t", b"\n", b"\r", b"{"),
    *(b"}", b"[", b"]", b"null", b"NaN", b"-1", b"1e999", b"9" * 400, b"[" * 3000, b"PK\x03\x04", b"PAR1", b"\\ud800"),
)
_NUMBERS = (0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**64 - 1)
_TEXTS = (
    *("", " ", "\0", "\n", "\r\n", "\t", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffd"),
    *("\uffff", "\ud800", "\udfff", "\udc80", "\U0010ffff", "\u202e", "\u2066", "\u2069", "\u200d", "\u00ad"),
    *("e\u0301", "\u0301" * 50, "شلوم", "漢字", "🏳️‍🌈", "👩‍👩‍👧", "ﷺ", "İ", "ß", "\ufb01"),
    *("\uff1d1+1", "=1+1", "@x", "-2", "+3"),
    *("|", "`", "$$x^2$$", "{{ 7 * 7 }}", "{% raw %}", "%s%n", "../..", "C:\\con", "</script>", "<!--", "]]>", "&amp;"),
    *("\\", '"""', "'''", "${x}", "$x", ATTACK, "nan", "inf", "null", "None", "True", "0", "-0.0", "1e400", "٣"),
    *("<0x0A>", "</s>", "<|endoftext|>", "[INST]"),
)
_VALUES = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308, [], {}, ""),
    *(float("nan"), float("inf")),
)
_TYPES = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_, np.complex64)
_EXTREMES = (np.nan, np.inf, -np.inf, -1, 0, 2, 1e30)
_CELLS = (None, -1, 0, 2**31 - 1, float("nan"), float("inf"), "", "x", [], [None], [[1]], True, {})
_HUGE = 20_000
_BLOCKS = (0x80, 0x800, 0x10000, 0x110000)


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A place that takes data from users: valid inputs, how they are mutated, and what is done with an input.

    `target` also raises AssertionError where an accepted input is processed wrongly. `share` is below 1 where an input
    takes long: that share of the inputs is enough.
    """

    name: str
    seeds: Sequence[Any]
    mutate: Callable[[Any, Random], Any]
    target: Callable[[Any], object]
    share: float = 1.0


def input_of(surface: Surface, number: int, *, seed: int) -> Any:
    """The input of that number, whatever the inputs before it."""
    rng = Random(f"{seed} {surface.name} {number}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mutation may warn, a target may not
        return surface.mutate(rng.choice(surface.seeds), rng)


def mutated_bytes(content: bytes, rng: Random) -> bytes:
    """A few bytes changed, inserted, left out, repeated, exchanged or cut off."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = (_with_other_number if rng.random() < 1 / 9 else _with_one_change)(content, rng)
    return content


def _with_one_change(content: bytes, rng: Random) -> bytes:
    start = rng.randint(0, len(content))
    end = min(len(content), start + rng.choice((0, 1, 2, 8, 64, 1024)))
    before, piece, after = content[:start], content[start:end], content[end:]
    match rng.randrange(8):
        case 0:
            return before  # cut off
        case 1:
            middle = b""
        case 2:
            middle = piece * rng.choice((2, 2, 2, 51))
        case 3:
            middle, after = after[: len(piece)] + piece, after[len(piece) :]
        case 4 | 5:
            middle = (rng.choice(_BYTES) if rng.random() < 0.7 else rng.randbytes(8)) + piece
        case _:
            middle = rng.randbytes(min(len(piece), 8)) + piece[8:]
    return before + middle + after


def _with_other_number(content: bytes, rng: Random) -> bytes:
    """A length or an offset of a binary format overwritten."""
    start, width = rng.randint(0, min(len(content), rng.choice((16, 10**9)))), rng.choice((1, 2, 4, 8))
    number = (rng.choice(_NUMBERS) % 2 ** (8 * width)).to_bytes(width, "little")
    return content[:start] + number + content[start + width :]


def mutated_text(text: str, rng: Random) -> str:
    """Hostile characters put into a text or in its place, or the text cut, doubled or very long."""
    place = rng.randint(0, len(text))
    match rng.randrange(8):
        case 0:
            return hostile_text(rng)
        case 1:
            return text[:place]
        case 2:
            return text * rng.randint(2, 5)
        case 3:
            return (text + hostile_text(rng)) * (_HUGE // (len(text) + 1) if rng.random() < 0.05 else 2)
        case _:
            return text[:place] + hostile_text(rng) + text[place:]


def hostile_text(rng: Random) -> str:
    """A few hostile texts, or characters of any kind, lone surrogates among them."""
    parts = [rng.choice(_TEXTS) if rng.random() < 0.7 else _characters(rng) for _ in range(rng.randint(0, 4))]
    return "".join(parts)


def mutated_json(value: Any, rng: Random) -> Any:
    """One part of it, at any depth, replaced, left out, put in twice or under another name."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.1:
        return _other_value(value, rng)
    copy = dict(value) if isinstance(value, dict) else list(value)
    place = rng.choice(list(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
    match rng.randrange(8):
        case 0:
            del copy[place]
        case 1 if isinstance(copy, dict):
            copy[hostile_text(rng)] = copy.pop(place)
        case 1:
            copy += copy[: rng.choice((1, 1000))]
        case _:
            copy[place] = mutated_json(copy[place], rng)
    return copy


def mutated_json_bytes(content: bytes, rng: Random) -> bytes:
    """A JSON text with one part changed, or a few of its bytes."""
    if rng.random() < 0.4:
        return mutated_bytes(content, rng)
    return json.dumps(mutated_json(json.loads(content), rng)).encode()


def _other_value(value: Any, rng: Random) -> Any:
    nested = json.loads("[" * 100 + "]" * 100)
    repeated = [value] * rng.choice((0, 1, 2, 500))
    plain = rng.choice(_NUMBERS), rng.choice(_VALUES)
    return rng.choice((hostile_text(rng), _near(value, rng), repeated, nested, *plain))


def _near(value: Any, rng: Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, int | float):
        return rng.choice((-value, value + 1, value - 1, value * 10**6, str(value)))
    return mutated_text(value, rng) if isinstance(value, str) else value


def _characters(rng: Random) -> str:
    return "".join(chr(rng.randrange(rng.choice(_BLOCKS))) for _ in range(rng.randint(1, 8)))


def mutated_safetensors(content: bytes, rng: Random) -> bytes:
    """A safetensors file with other bytes, another header, other metadata or another array."""
    ways = (mutated_bytes, _with_other_header, *(_with_other_metadata,) * 2, *(_with_other_array,) * 2)
    return rng.choice(ways)(content, rng)


def _split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a safetensors file, and its data."""
    start = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:start]), content[start:]


def _joined(header: Any, data: bytes, rng: Random) -> bytes:
    text = json.dumps(header).encode()
    length = len(text) if rng.random() < 0.95 else rng.choice((0, 1, len(text) - 1, 2**40, 2**64 - 1))
    return length.to_bytes(8, "little") + text + data


def _with_other_header(content: bytes, rng: Random) -> bytes:
    header, data = _split(content)
    return _joined(mutated_json(header, rng), data, rng)


def _with_other_metadata(content: bytes, rng: Random) -> bytes:
    header, data = _split(content)
    if not (metadata := header.get("__metadata__")):
        return _with_other_array(content, rng)
    name = rng.choice(sorted(metadata))
    try:
        text = json.dumps(mutated_json(json.loads(metadata[name]), rng))
    except json.JSONDecodeError:
        text = mutated_text(metadata[name], rng)
    if rng.random() < 0.2:
        text = mutated_bytes(text.encode(), rng).decode("utf-8", "replace")
    metadata[name] = text
    return _joined(header, data, rng)


def _with_other_array(content: bytes, rng: Random) -> bytes:
    header, _ = _split(content)
    arrays = load(content)
    name = rng.choice(sorted(arrays))
    if rng.random() < 0.15:
        del arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(_other_array(arrays[name], rng))
    return save(arrays, header.get("__metadata__"))


def _other_array(array: np.ndarray, rng: Random) -> np.ndarray:
    """Another type or shape, or a number that no model gives."""
    match rng.randrange(6):
        case 0:
            return array.astype(rng.choice(_TYPES))
        case 1:
            return array[: rng.randint(0, len(array))]
        case 2:
            return array.reshape(-1)
        case 3:
            return np.repeat(array, 2, axis=rng.randrange(array.ndim))
        case _:
            changed = array.copy()
            for place in [rng.randrange(array.size)] * bool(array.size):
                changed.flat[place] = rng.choice(_EXTREMES if array.dtype.kind == "f" else (-1, 0, 2, 30_000))
            return changed


def mutated_parquet(content: bytes, rng: Random) -> bytes:
    """A Parquet file with another cell, another type of a column, or without a column or rows."""
    table = pq.read_table(pa.BufferReader(content))
    column = rng.choice(table.schema.names)
    match rng.randrange(9):
        case 0:
            table = table.drop_columns([column])
        case 1:
            table = table.slice(0, rng.randrange(table.num_rows))
        case 2:
            table = pa.concat_tables([table, table])
        case 3 | 4:
            table = _with_column(table, column, _other_column(table.num_rows, rng))
        case _:
            table = _with_column(table, column, _with_other_cell(table[column], rng))
    sink = pa.BufferOutputStream()
    compression = rng.choice(("none", "snappy", "zstd", "gzip"))
    pq.write_table(table, sink, compression=compression, use_dictionary=rng.random() < 0.5)
    return sink.getvalue().to_pybytes()


def _with_column(table: pa.Table, name: str, cells: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, cells)


def _with_other_cell(column: pa.ChunkedArray, rng: Random) -> pa.Array:
    """As far as the column's type has such a value; else the whole column is text."""
    cells = column.to_pylist()
    place = rng.randrange(len(cells))
    plain = json.loads(json.dumps(cells[place], default=repr))
    cells[place] = rng.choice(_CELLS) if rng.random() < 0.5 else mutated_json(plain, rng)
    try:
        return pa.array(cells, column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([hostile_text(rng).encode("utf-8", "replace").decode()] * len(cells))


def _other_column(num_rows: int, rng: Random) -> pa.Array:
    """Cells of a type that a column of texts and numbers is not expected to have."""
    times = rng.choice((pa.timestamp("s"), pa.timestamp("ns"), pa.duration("s"), pa.int64()))
    columns = (
        pa.array([0, 2**53, -(2**53)], times),
        pa.array([b"\xff\0", b"", None], pa.binary()),
        pa.array([[1], [], None], pa.list_(pa.int8())),
        pa.array([{"a": 1}, None, {}], pa.struct([("a", pa.int8())])),
        pa.array([float("nan"), float("inf"), -0.0]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2**31 - 1, -1], pa.date32()),
        pa.nulls(3),
    )
    return rng.choice(columns).take([row % 3 for row in range(num_rows)])
