"""The file of a trace: arrays and JSON metadata with a schema number, as .safetensors, checked before use."""

import codecs
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rauq.arguments import Sampling
from rauq.errors import InvalidInput, TraceFileError
from rauq.trace.attribution import Attribution
from rauq.trace.messages import Message, packed, unpacked
from rauq.trace.prompt_parts import PromptPart, column_names

# Larger than any existing model, and small enough to loop over.
MOST_LAYERS = 10_000
MOST_HEADS = 10_000
MOST_BANDS = 64
MOST_PROMPT_TOKENS = 2**22
MOST_ANSWER_TOKENS = 2**17
MOST_VOCABULARY = 2**31  # an id is a 32-bit number
MOST_ALTERNATIVES = 100
LENS_TOKENS = 10  # of the extra logit_lens
MOST_EXTRAS = 100
MOST_MESSAGES = 100_000
MOST_TEMPLATE_OPTIONS = 100
LONGEST_NAME = 4096  # the longest path of common systems

# Of an upload. A page draws each token several times over: for 4,096, reading, scoring and the report take 3 s.
MOST_UPLOADED_ANSWER_TOKENS = 4096
MOST_UPLOADED_PROMPT_TOKENS = 2**17  # the context of today's models
MOST_UPLOADED_MESSAGES = 1000
MOST_UPLOADED_ALTERNATIVES = 20  # a token on average; each takes twenty times as much memory as in the file
LARGEST_UPLOADED_EXTRAS = 16 * 2**20  # bytes

_NAMES = ("model", "revision", "dtype", "quantisation", "adapter", "engine")
_WEIGHTS = ("max_attention", "diagonal", "lookback", "part_shares")
_ROUNDING = 1e-2  # half precision may overstep a bound by this much


def faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """What is out of bounds in the fields of a trace."""
    for name, (given, lowest, highest) in (_sizes(fields) | _values(fields)).items():
        values = np.asarray(given)
        if np.any((values < lowest) | (values > highest)):  # nan is allowed: it stays nan
            yield f"{name} must lie in [{_bound(lowest)}, {_bound(highest)}]"
    if any(math.isnan(entry[2]) for row in fields["alternatives"] for entry in row):
        yield "an alternative has a logprob of nan"
    yield from _wrong_extras(fields)
    if not _is_unicode(fields):
        yield "a text is not valid Unicode (it holds a lone surrogate)"
    if not _spell(fields["pieces"], fields["answer_tokens"]):
        yield "answer_tokens are not the text of pieces"


def excesses(fields: Mapping[str, Any]) -> Iterator[str]:
    """What the fields of an uploaded trace have too much of, and how much is taken."""
    extras, num_tokens = sum(array.nbytes for array in fields["extras"].values()), len(fields["answer_ids"])
    for count, most, what in (
        (num_tokens, MOST_UPLOADED_ANSWER_TOKENS, "answer tokens"),
        (sum(map(len, fields["alternatives"])), MOST_UPLOADED_ALTERNATIVES * num_tokens, "alternatives"),
        (len(fields["prompt_ids"]), MOST_UPLOADED_PROMPT_TOKENS, "prompt tokens"),
        (len(fields["messages"]), MOST_UPLOADED_MESSAGES, "messages"),
        (extras, LARGEST_UPLOADED_EXTRAS, "bytes of extras"),
    ):
        if count > most:
            yield f"{count:,} {what}, and at most {most:,} are accepted"


def _sizes(fields: Mapping[str, Any]) -> dict[str, tuple[Any, float, float]]:
    """Numbers and lengths, with the lowest and the highest that is allowed."""
    shape, options = fields["attention"].shape, fields["template_options"]
    return {
        "num_layers": (fields["num_layers"], 1, MOST_LAYERS),
        "vocab_size": (fields["vocab_size"], 1, MOST_VOCABULARY),
        "the number of heads": (shape[1:2], 1, MOST_HEADS),
        "the number of bands": (shape[3:4], 1, MOST_BANDS),
        "the number of prompt tokens": (fields["prompt_ids"].size, 1, MOST_PROMPT_TOKENS),
        "the number of answer tokens": (fields["answer_ids"].size, 1, MOST_ANSWER_TOKENS),
        "the number of alternatives": ([len(row) for row in fields["alternatives"]], 0, MOST_ALTERNATIVES),
        "the number of extras": (len(fields["extras"]), 0, MOST_EXTRAS),
        "the number of messages": (len(fields["messages"]), 0, MOST_MESSAGES),
        "the number of template options": (len(options), 0, MOST_TEMPLATE_OPTIONS),
        "the length of template options": ([len(f"{name}{options[name]}") for name in options], 1, LONGEST_NAME),
        "the length of the model's name": ([len(fields[name]) for name in _NAMES], 0, LONGEST_NAME),
    }


def _values(fields: Mapping[str, Any]) -> dict[str, tuple[Any, float, float]]:
    """The values of the arrays, with the lowest and the highest that is allowed."""
    alternatives = [entry for row in fields["alternatives"] for entry in row]
    vocabulary = max(1, fields["vocab_size"])
    most_entropy = math.log(max(1, fields["prompt_ids"].size + fields["answer_ids"].size))
    extras = fields["extras"]
    weights = {name: extras[name] for name in _WEIGHTS if name in extras}
    return {
        "prompt_ids": (fields["prompt_ids"], 0, vocabulary - 1),
        "answer_ids": (fields["answer_ids"], 0, vocabulary - 1),
        "ids of alternatives": ([entry[0] for entry in alternatives], -1, vocabulary - 1),
        "logprobs": (fields["logprobs"], -np.inf, _ROUNDING),
        "logprobs of alternatives": ([entry[2] for entry in alternatives], -np.inf, _ROUNDING),
        "entropies": (fields["entropies"], -_ROUNDING, math.log(vocabulary) + _ROUNDING),
        "logit_lens": (fields["extras"].get("logit_lens", 1.0), -1 - _ROUNDING, vocabulary),
        **{name: (given, -_ROUNDING, 1 + _ROUNDING) for name, given in weights.items()},
        "attention_entropy": (extras.get("attention_entropy", ()), -_ROUNDING, most_entropy + _ROUNDING),
        "mean_logprob": (extras.get("mean_logprob", ()), -np.inf, _ROUNDING),
        "attention": (fields["attention"], -_ROUNDING, 1 + _ROUNDING),
    }


def _wrong_extras(fields: Mapping[str, Any]) -> Iterator[str]:
    """The extras that methods read must have the right shape; others are kept as they are."""
    num_prompt, num_answer = fields["prompt_ids"].size, fields["answer_ids"].size
    layers_and_heads = fields["attention"].shape[:2]
    shapes: dict[str, tuple[int, ...]] = {
        "max_attention": (num_answer, num_answer),
        "diagonal": (*layers_and_heads[1:], num_prompt + num_answer),
        "lookback": (*layers_and_heads, num_answer, 2),
        "part_shares": (*layers_and_heads, num_answer, len(column_names(fields["prompt_parts"]))),
        "focus": (num_answer, 2),
        "attention_entropy": (*layers_and_heads, num_answer, 2),
        "mean_logprob": (num_answer,),
        "hidden": (_width(fields, "hidden"),),
        "hidden_mean": (_width(fields, "hidden_mean"),),
        "hidden_layers": (fields["num_layers"] + 1, num_answer, _width(fields, "hidden_layers")),
        "logit_lens": (fields["num_layers"], num_answer, 1 + 2 * LENS_TOKENS),
    }
    for name, shape in shapes.items():
        given = fields["extras"].get(name)
        if given is not None and (given.shape != shape or given.dtype.kind != "f"):
            yield f"the extra {name} has shape {given.shape} of {given.dtype}, not {shape} of numbers"


def _width(fields: Mapping[str, Any], name: str) -> int:
    """The last length of an extra of hidden states, which no other field says."""
    shape = np.shape(fields["extras"].get(name, np.zeros(0)))
    return int(shape[-1]) if shape else 0


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _is_unicode(fields: Mapping[str, Any]) -> bool:
    listed = [entry[1] for row in fields["alternatives"] for entry in row]
    names = [*(fields[name] for name in ("prompt", *_NAMES)), *(part.name for part in fields["prompt_parts"])]
    try:
        "".join([*names, *fields["part_texts"], *fields["answer_tokens"], *listed]).encode()
    except UnicodeEncodeError:
        return False
    return True


def _spell(pieces: Sequence[bytes], texts: Sequence[str]) -> bool:
    """Whether each text is what its piece adds to the answer, or what a silent token adds, such as the end token."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for place, (piece, text) in enumerate(zip(pieces, texts, strict=True), start=1):
        before, is_last = decoder.getstate(), place == len(texts)
        if text != decoder.decode(piece, final=is_last):
            decoder.setstate(before)
            if text != decoder.decode(b"", final=is_last):
                return False
    return True


SCHEMA = 1
# 32 layers of 32 heads take 7 MB for 200 tokens. A file on disk may be larger, since whoever names it can see its size.
LARGEST_UPLOAD = 64 * 2**20
LARGEST_FILE = 4 * 2**30
# JSON takes up to twenty times its size in memory; an answer of 4,096 tokens has 2 MB of it.
LARGEST_UPLOADED_HEADER = 4 * 2**20
MOST_UPLOADED_LISTS = 50_000  # of JSON, which slow down everybody; there are three for each token

ARRAYS = ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention")
_METADATA_KEY = "rauq_trace"
_EXTRA = "extra."
_SCALARS = MappingProxyType(
    dict.fromkeys(("prompt", "model", "revision", "kind", "stop_reason", "prompt_form", "dtype", "quantisation"), str)
    | {"adapter": str, "engine": str, "chat_applied": bool, "num_layers": int, "vocab_size": int}
)
_LISTS = MappingProxyType({"layers": int, "answer_tokens": str, "part_texts": str, "wrong": int})
_ALTERNATIVES = MappingProxyType({"ids": int, "texts": str, "logprobs": float})
_OLDER_FILES: Mapping[str, Any] = MappingProxyType(  # what files without it mean
    {"wrong": [], "messages": [], "prompt_form": "text", "template_options": {}, "thinking": None, "sampling": None}
    | {"prompt_parts": [], "part_texts": []}
    | {"dtype": "", "quantisation": "", "adapter": "", "engine": "", "attribution": None}
)
_LENGTH_BYTES = 8  # a safetensors file begins with the length of its header
_BY_PATH = "Load a larger trace by its path, with rauq.Trace.load."
_MOST_SAID = 200  # characters of a file's own text in a message
_UNREADABLE = (SafetensorError, ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError)

Part = TypeVar("Part")


def pack(fields: Mapping[str, Any]) -> bytes:
    """The content of the file of a trace with these fields."""
    metadata = {name: fields[name] for name in (*_SCALARS, *_LISTS)}
    metadata |= {"thinking": fields["thinking"], "sampling": fields["sampling"] and vars(fields["sampling"])}
    metadata["attribution"] = fields["attribution"] and vars(fields["attribution"])
    metadata |= {"schema": SCHEMA, "pieces": [piece.decode("latin-1") for piece in fields["pieces"]]}
    metadata["messages"] = [packed(message) for message in fields["messages"]]
    metadata["template_options"] = dict(fields["template_options"])
    metadata["prompt_parts"] = [list(part) for part in fields["prompt_parts"]]
    for place, (name, kind) in enumerate(_ALTERNATIVES.items()):
        metadata[f"alternative_{name}"] = [[kind(entry[place]) for entry in row] for row in fields["alternatives"]]
    arrays = {name: fields[name] for name in ARRAYS}
    arrays |= {_EXTRA + name: array for name, array in fields["extras"].items()}
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return save(contiguous, {_METADATA_KEY: json.dumps(metadata)})


def unpack(content: bytes, make: Callable[..., Part], *, name: str) -> Part:
    """What `make` makes of the fields of the trace in this content; `name` is what errors call it.

    Each alternative is a bare (id, text, logprob).

    Raises:
        TraceFileError: not a trace, truncated, damaged, out of bounds or of another schema; the message says which.
    """
    try:
        arrays, texts = arrays_and_texts(content)
    except ValueError as error:
        message = f"{name} is not a trace, or it is truncated ({error}). Save the trace again."
        raise TraceFileError(message) from error
    metadata = _metadata(texts, name)
    try:
        fields = dict(_fields(metadata, arrays))
        for fault in faults(fields):
            raise ValueError(fault)
        return make(**fields)
    except _UNREADABLE as error:
        message = f"{name} is damaged: its parts are inconsistent ({_short(error)}). Save the trace again."
        raise TraceFileError(message) from error


def arrays_and_texts(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a safetensors file, which may come from anyone, and its metadata.

    Raises:
        ValueError: it is none, or it is truncated; the message is short.
    """
    try:
        arrays = {label: _quiet(array) for label, array in load(content).items()}
        header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + header_length(content)])
    except (*_UNREADABLE, RecursionError) as error:
        raise ValueError(_short(error)) from error
    return arrays, header.get("__metadata__") or {}


def header_length(content: bytes) -> int:
    """The bytes of a safetensors file's header, as the file says itself."""
    return int.from_bytes(content[:_LENGTH_BYTES], "little")


def _quiet(array: np.ndarray) -> np.ndarray:
    """The array without signalling nans, at which arithmetic would warn."""
    return np.where(np.isnan(array), array.dtype.type(np.nan), array) if array.dtype.kind == "f" else array


def check_upload(content: bytes, name: str) -> None:
    """Refuse what is too large to be taken from anyone.

    Raises:
        TraceFileError: the content or its header is too large.
    """
    if len(content) > LARGEST_UPLOAD or len(content) > header_length(content) > LARGEST_UPLOADED_HEADER:
        message = (
            f"{name} is too large: {len(content):,} bytes, and at most {LARGEST_UPLOAD:,} are accepted, of which "
            f"{LARGEST_UPLOADED_HEADER:,} may be text. {_BY_PATH}"
        )
        raise TraceFileError(message)
    if content.count(b"[", 0, _LENGTH_BYTES + header_length(content)) > MOST_UPLOADED_LISTS:
        message = f"{name} is too large: more than {MOST_UPLOADED_LISTS:,} lists. {_BY_PATH}"
        raise TraceFileError(message)


def check_uploaded(fields: Mapping[str, Any], name: str) -> None:
    """Refuse a trace that is too large for a page, given its fields.

    Raises:
        TraceFileError: its answer, its prompt or its extras are too long.
    """
    for excess in excesses(fields):
        message = f"{name} is too large: {excess}. {_BY_PATH}"
        raise TraceFileError(message)


def read(path: Path) -> bytes:
    """The content of a file.

    Raises:
        TraceFileError: there is no such file, it is too large, or it cannot be read.
    """
    if not path.is_file():
        message = f"There is no file {path}. Give the path of a trace that was saved with trace.save."
        raise TraceFileError(message)
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            message = f"{path} is too large for a trace: {size:,} bytes, and at most {LARGEST_FILE:,} are read."
            raise TraceFileError(message)
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}). Check its permissions."
        raise TraceFileError(message) from error


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        InvalidInput: no file can be written there.
    """
    # Written here, because no pinned package does it.
    temporary = path.parent / f".{path.name}.{os.getpid()}.{get_ident()}.tmp"
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror}). Give the path of a file in a folder that exists."
        raise InvalidInput(message) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _metadata(texts: Mapping[str, str], name: str) -> Mapping[str, Any]:
    if _METADATA_KEY not in texts:
        message = f"{name} is a safetensors file but not a trace: it has no {_METADATA_KEY!r} metadata."
        raise TraceFileError(message)
    try:
        metadata: dict[str, Any] = json.loads(texts[_METADATA_KEY])
        schema = metadata["schema"]
    except (*_UNREADABLE, RecursionError) as error:
        message = f"{name} is damaged: its metadata cannot be read ({_short(error)}). Save the trace again."
        raise TraceFileError(message) from error
    if type(schema) is not int or schema != SCHEMA:
        message = f"{name} has trace schema {_short(schema)}; this version reads schema {SCHEMA}. Save the trace again."
        raise TraceFileError(message)
    return metadata


def _fields(metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Each field of a trace, of the type that it should have."""
    metadata = {**_OLDER_FILES, **metadata}
    for name, kind in _SCALARS.items():
        yield name, _typed(metadata, name, kind)
    for name, kind in _LISTS.items():
        yield name, tuple(_typed_list(metadata, name, kind))
    for name in ARRAYS:
        yield name, _part(arrays, name)
    yield "extras", {name.removeprefix(_EXTRA): array for name, array in arrays.items() if name.startswith(_EXTRA)}
    yield "thinking", None if metadata["thinking"] is None else tuple(_typed_list(metadata, "thinking", int))
    yield "sampling", None if metadata["sampling"] is None else Sampling(**_typed(metadata, "sampling", dict))
    found = metadata["attribution"]
    yield "attribution", None if found is None else Attribution(**_typed(metadata, "attribution", dict))
    yield "pieces", tuple(piece.encode("latin-1") for piece in _typed_list(metadata, "pieces", str))
    yield "messages", tuple(_messages(metadata))
    yield "template_options", _typed(metadata, "template_options", dict)
    yield "prompt_parts", tuple(_prompt_parts(metadata))
    yield "alternatives", tuple(tuple(zip(*row, strict=True)) for row in _alternative_rows(metadata))


def _alternative_rows(metadata: Mapping[str, Any]) -> Iterator[tuple[list[Any], ...]]:
    """Ids, texts and log-probabilities of one token after another."""
    names = {f"alternative_{name}": kind for name, kind in _ALTERNATIVES.items()}
    for row in zip(*(_typed_list(metadata, name, list) for name in names), strict=True):
        columns: tuple[list[Any], ...] = tuple(
            _typed_list({name: row[i]}, name, kind) for i, (name, kind) in enumerate(names.items())
        )
        if len(set(map(len, columns))) > 1:
            message = "the ids, texts and logprobs of a token's alternatives differ in number"
            raise ValueError(message)
        yield columns


def _messages(metadata: Mapping[str, Any]) -> Iterator[Message]:
    """The messages of a conversation."""
    return map(unpacked, _typed_list(metadata, "messages", list))


def _prompt_parts(metadata: Mapping[str, Any]) -> Iterator[PromptPart]:
    for name, start, stop in _typed_list(metadata, "prompt_parts", list):
        if not isinstance(name, str):
            message = f"a part of the prompt has the name {name!r}"
            raise TypeError(message)
        yield PromptPart(name, start, stop)


def _part(parts: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - JSON or an array
    if name not in parts:
        message = f"{name} is missing"
        raise ValueError(message)
    return parts[name]


def _typed(metadata: Mapping[str, Any], name: str, kind: type[Part]) -> Part:
    # Written here, because the app opens on a trace, and pydantic would add a third to the time of importing rauq.
    value: Part = _part(metadata, name)
    if type(value) is not kind:  # bool is an int to isinstance
        message = f"{name} is {type(value).__name__}, not {kind.__name__}"
        raise TypeError(message)
    return value


def _typed_list(metadata: Mapping[str, Any], name: str, kind: type[Part]) -> list[Part]:
    return [_typed({name: value}, name, kind) for value in _typed(metadata, name, list)]


def _short(said: object) -> str:
    text = f"there is no {said}" if isinstance(said, KeyError) else str(said)
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"
