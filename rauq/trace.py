"""What one generation left behind: everything that scoring needs, so that no model is needed to score again.

Rows and bands: the query at position M - 1 + r is row r, so row 0 predicts the first answer token and row N is
the query of the last one. Band k is the weight which that query puts on the key k positions back.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import get_ident
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rauq.errors import InvalidInput, NotCaptured, TraceFileError

SCHEMA = 1
NUM_BANDS = 8
NUM_ALTERNATIVES = 10

Kind = Literal["base", "instruct"]
StopReason = Literal["eos", "stop", "length", "cancelled", "given"]
Alignment = Literal["predicting", "own"]

_METADATA_KEY = "rauq_trace"
_ARRAYS = ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention")
_EXTRA = "extra."
_SCALARS = MappingProxyType(
    dict.fromkeys(("prompt", "model", "revision", "kind", "stop_reason"), str)
    | {"chat_applied": bool, "num_layers": int, "vocab_size": int}
)
_LISTS = MappingProxyType({"layers": int, "answer_tokens": str})

Part = TypeVar("Part")


class Alternative(NamedTuple):
    """One of the most probable next tokens: its id, its decoded text, its log-probability in nats."""

    id: int
    text: str
    logprob: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One prompt and its answer, with log-probabilities and the band of attention (DESIGN sections 3 to 5).

    M prompt tokens, N answer tokens (end and stop tokens included), L layers that have attention, H query heads.
    `logprobs` and `entropies` (N,) are in nats, from the raw logits. `attention` (L, H, N + 1, K) holds weights:
    0 where the model masks the key, nan before the sequence and in rows that were not captured.
    The arrays are read-only views of those that were given: nothing is copied, and those stay as they are.
    """

    prompt: str
    model: str
    revision: str
    kind: Kind
    chat_applied: bool
    stop_reason: StopReason
    layers: tuple[int, ...]
    num_layers: int
    vocab_size: int
    prompt_ids: np.ndarray
    answer_ids: np.ndarray
    answer_tokens: tuple[str, ...]
    pieces: tuple[bytes, ...]
    logprobs: np.ndarray
    entropies: np.ndarray
    alternatives: tuple[tuple[Alternative, ...], ...]
    attention: np.ndarray
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)
        for name in _ARRAYS:
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        extras = {name: _read_only(array) for name, array in self.extras.items()}
        object.__setattr__(self, "extras", MappingProxyType(extras))

    @property
    def answer(self) -> str:
        """The whole answer as text, end and stop tokens included."""
        return "".join(self.answer_tokens)

    @property
    def num_heads(self) -> int:
        """Query heads a layer, H."""
        return int(self.attention.shape[1])

    def previous_token_attention(
        self,
        alignment: Alignment = "predicting",
        offset: int = 1,
        into_prompt: bool = False,  # noqa: FBT001, FBT002 - the interface has it by position too
    ) -> np.ndarray:
        """Weight on the `offset`-th preceding token: (L, H, N - 1), column t belonging to answer token t + 1.

        `predicting` reads the query that predicts the token, `own` the token's own query (DESIGN section 4).
        Columns whose key lies in the prompt are nan unless `into_prompt`.

        Raises:
            InvalidInput: unknown alignment, or an offset that the band does not reach.
            NotCaptured: `own` needs the last row, and it was not captured.
        """
        first_row, band = _first_row_and_band(alignment, offset, self.attention.shape[3])
        last_row = first_row + len(self.answer_ids) - 1  # exclusive
        weights = self.attention[:, :, first_row:last_row, band].copy()
        if alignment == "own" and weights.shape[2] and np.isnan(self.attention[:, :, -1, 0]).all():
            message = (
                "The attention of the last answer token was not captured, and alignment='own' needs it. "
                "Generate with last_row=True, or score the answer with lm.read."
            )
            raise NotCaptured(message)
        if not into_prompt:
            weights[:, :, : max(0, band + 1 - first_row)] = np.nan
        return weights

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .safetensors file: arrays, and JSON metadata with a schema number; never a half-written one.

        Raises:
            InvalidInput: no file can be written there.
        """
        alternatives = {
            "alternative_ids": [[a.id for a in row] for row in self.alternatives],
            "alternative_texts": [[a.text for a in row] for row in self.alternatives],
            "alternative_logprobs": [[a.logprob for a in row] for row in self.alternatives],
        }
        metadata = {name: getattr(self, name) for name in (*_SCALARS, *_LISTS)} | alternatives
        metadata |= {"schema": SCHEMA, "pieces": [piece.decode("latin-1") for piece in self.pieces]}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {_EXTRA + name: array for name, array in self.extras.items()}
        contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        _write_whole(Path(path), save(contiguous, {_METADATA_KEY: json.dumps(metadata)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote.

        Raises:
            TraceFileError: no such file, not a trace, truncated, or of another schema; the message says which.
        """
        metadata, arrays = _read(Path(path))
        extras = {name.removeprefix(_EXTRA): array for name, array in arrays.items() if name.startswith(_EXTRA)}
        try:
            fields: dict[str, Any] = {name: _typed(metadata, name, kind) for name, kind in _SCALARS.items()}
            fields |= {name: tuple(_typed_list(metadata, name, kind)) for name, kind in _LISTS.items()}
            fields |= {name: arrays[name] for name in _ARRAYS}
            fields["pieces"] = tuple(piece.encode("latin-1") for piece in _typed_list(metadata, "pieces", str))
            return cls(**fields, alternatives=_alternatives(metadata), extras=extras)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            message = f"{path} is damaged: its parts do not fit together ({error}). Save the trace again."
            raise TraceFileError(message) from error


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _first_row_and_band(alignment: Alignment, offset: int, num_bands: int) -> tuple[int, int]:
    """Row of the second answer token's query, and the band of the key `offset` tokens before it."""
    if alignment not in get_args(Alignment):
        message = f"Unknown alignment {alignment!r}; choose one of {', '.join(get_args(Alignment))}."
        raise InvalidInput(message)
    first_row, band = (1, offset - 1) if alignment == "predicting" else (2, offset)
    if offset < 1 or band >= num_bands:
        largest = num_bands if alignment == "predicting" else num_bands - 1
        message = f"Offset {offset} is not captured: with alignment={alignment!r} it goes from 1 to {largest}."
        raise InvalidInput(message)
    return first_row, band


def _check(trace: Trace) -> None:
    if faults := [*_wrong_shapes(trace), *_wrong_values(trace)]:
        message = f"These parts make no trace: {'; '.join(faults)}."
        raise InvalidInput(message)


def _wrong_shapes(trace: Trace) -> list[str]:
    num_tokens = len(trace.answer_ids)
    num_heads, num_bands = trace.attention.shape[1:4:2] if trace.attention.ndim == 4 else (0, 0)
    expected = {
        "answer_tokens": (len(trace.answer_tokens), num_tokens),
        "pieces": (len(trace.pieces), num_tokens),
        "alternatives": (len(trace.alternatives), num_tokens),
        "prompt_ids": (trace.prompt_ids.shape, (trace.prompt_ids.size,)),
        "answer_ids": (trace.answer_ids.shape, (num_tokens,)),
        "logprobs": (trace.logprobs.shape, (num_tokens,)),
        "entropies": (trace.entropies.shape, (num_tokens,)),
        "attention": (trace.attention.shape, (len(trace.layers), num_heads, num_tokens + 1, num_bands)),
    }
    wrong = [f"{name} has shape {got}, not {wanted}" for name, (got, wanted) in expected.items() if got != wanted]
    empty = [name for name in ("prompt_ids", "answer_ids", "attention") if not getattr(trace, name).size]
    return wrong + [f"{name} is empty" for name in empty]


def _wrong_values(trace: Trace) -> list[str]:
    integers = {"prompt_ids", "answer_ids"}
    faults = [
        f"{name} holds {getattr(trace, name).dtype}"
        for name in _ARRAYS
        if not np.issubdtype(getattr(trace, name).dtype, np.integer if name in integers else np.floating)
    ]
    if list(trace.layers) != sorted(set(trace.layers) & set(range(trace.num_layers))):
        faults.append(f"layers {trace.layers} are not ascending numbers below {trace.num_layers}")
    if trace.kind not in get_args(Kind):
        faults.append(f"kind is {trace.kind!r}")
    if trace.stop_reason not in get_args(StopReason):
        faults.append(f"stop_reason is {trace.stop_reason!r}")
    return faults


def _typed(metadata: Mapping[str, Any], name: str, kind: type[Part]) -> Part:
    value: Part = metadata[name]
    if type(value) is not kind:  # bool is an int to isinstance
        message = f"{name} is {type(value).__name__}, not {kind.__name__}"
        raise TypeError(message)
    return value


def _typed_list(metadata: Mapping[str, Any], name: str, kind: type[Part]) -> list[Part]:
    return [_typed({name: value}, name, kind) for value in _typed(metadata, name, list)]


def _alternatives(metadata: Mapping[str, Any]) -> tuple[tuple[Alternative, ...], ...]:
    columns = (metadata[f"alternative_{name}"] for name in ("ids", "texts", "logprobs"))
    return tuple(
        tuple(Alternative(int(i), str(text), float(logprob)) for i, text, logprob in zip(*row, strict=True))
        for row in zip(*columns, strict=True)
    )


def _write_whole(path: Path, content: bytes) -> None:
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


def _read(path: Path) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
    if not path.is_file():
        message = f"There is no file {path}. Give the path of a trace that was saved with trace.save."
        raise TraceFileError(message)
    try:
        with safe_open(path, framework="np") as file:
            text = (file.metadata() or {}).get(_METADATA_KEY)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        message = f"{path} is not a trace, or it is truncated ({error}). Save the trace again."
        raise TraceFileError(message) from error
    if text is None:
        message = f"{path} is a safetensors file but not a trace: it has no {_METADATA_KEY!r} metadata."
        raise TraceFileError(message)
    return _metadata(path, text), arrays


def _metadata(path: Path, text: str) -> Mapping[str, Any]:
    try:
        metadata: dict[str, Any] = json.loads(text)
        schema = metadata["schema"]
    except (json.JSONDecodeError, RecursionError, KeyError, TypeError) as error:
        message = f"{path} is damaged: its metadata cannot be read ({error}). Save the trace again."
        raise TraceFileError(message) from error
    if schema != SCHEMA:
        message = f"{path} has trace schema {schema}; this version reads schema {SCHEMA}. Save the trace again."
        raise TraceFileError(message)
    return metadata
