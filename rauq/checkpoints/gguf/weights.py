"""The weights of a GGUF file as one safetensors file, dequantised one tensor at a time.

Which tensor is which, and how each is laid out, is what transformers knows (`modeling_gguf_pytorch_utils`); unlike
there, every tensor of the model has to be in the file, and every tensor of the file has to be used.
"""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
import torch

from rauq.arguments import Cancel, OnProgress
from rauq.checkpoints.gguf.architectures import ROPE_FACTORS
from rauq.checkpoints.gguf.gpt_oss import GptOssTensors
from rauq.checkpoints.gguf.header import GgufHeader, GgufTensor, said
from rauq.checkpoints.store import raise_if_cancelled
from rauq.errors import ModelNotFound, UnsupportedModel
from rauq.transformers_api import TENSOR_PROCESSORS, PreTrainedModel, TensorProcessor, get_gguf_hf_weights_map

_DTYPES = {"float32": ("F32", torch.float32), "bfloat16": ("BF16", torch.bfloat16), "float16": ("F16", torch.float16)}
_SLAB = 2**22  # elements that are dequantised at once
_MOST_NAMED = 3
_PROCESSORS = MappingProxyType({**TENSOR_PROCESSORS, "gpt-oss": GptOssTensors})


@dataclass(frozen=True, kw_only=True)
class Part:
    """One tensor of the model: its name and shape there, and the tensors of the file that hold it."""

    name: str
    shape: tuple[int, ...]
    sources: tuple[GgufTensor, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """How a model's tensors come from a file: `parts` in its order, and the `processor` that lays out their values.

    `state` is the file's size and time of modification from before its header was read.
    """

    header: GgufHeader
    state: tuple[int, int]
    parts: tuple[Part, ...]
    names: dict[str, str]
    processor: TensorProcessor

    def num_bytes(self, dtype: str) -> int:
        """What the weights take in this dtype."""
        return sum(_num_bytes(part, dtype) for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class _Names:
    """What transformers' table needs of a model, with the base model as its only child, which saves 20 seconds."""

    model: Any

    @property
    def config(self) -> Any:
        return self.model.config.get_text_config(decoder=True)

    def state_dict(self) -> dict[str, torch.Tensor]:
        return self.model.state_dict()

    def named_children(self) -> "list[tuple[str, _Names]]":
        base = self.model.base_model
        return [] if base is self.model else [(self.model.base_model_prefix, _Names(model=base))]


def plan(header: GgufHeader, skeleton: PreTrainedModel, *, state: tuple[int, int] = (0, 0)) -> Plan:
    """Find every tensor of a model in a file; nothing is read.

    Args:
        header: The file's.
        skeleton: The model, on the meta device.
        state: Size and time of modification from before the header was read.

    Raises:
        UnsupportedModel: the model has a tensor that the file lacks, or the other way round.
    """
    processor = _PROCESSORS.get(header.architecture, TensorProcessor)(config=skeleton.config.to_dict())
    with _tables(header):
        names: dict[str, str] = get_gguf_hf_weights_map(_Names(model=skeleton), processor)
    sources: dict[str, list[GgufTensor]] = {}
    unknown = []
    shapes = _shapes(skeleton)
    for tensor in header.tensors:
        name = names.get(tensor.name) or names.get(tensor.name.removesuffix(".weight"))
        if name in shapes:
            sources.setdefault(name, []).append(tensor)
        elif tensor.name != ROPE_FACTORS:  # which the config was read from
            unknown.append(tensor.name)
    _refuse(header, [name for name in shapes if name not in sources], unknown)
    parts = (Part(name=name, shape=shapes[name], sources=tuple(found)) for name, found in sources.items())
    return Plan(header=header, state=state, parts=tuple(parts), names=names, processor=processor)


def write_safetensors(
    plan: Plan, path: Path, *, dtype: str, on_progress: OnProgress | None = None, cancel: Cancel | None = None
) -> None:
    """Dequantise the weights into a safetensors file, with one tensor in memory at a time.

    Args:
        plan: What to write.
        path: Where to.
        dtype: float32, bfloat16 or float16.
        on_progress: Called with the bytes written so far, and with those of all weights.
        cancel: Checked before every tensor.

    Raises:
        OSError: the file cannot be written.
        ModelNotFound: the GGUF file cannot be read, or shrank meanwhile.
        UnsupportedModel: a tensor does not have the shape that the model needs.
        Stopped: cancelled.
    """
    with _opened(plan.header) as source, path.open("wb") as target:
        target.write(_safetensors_header(plan.parts, dtype))
        done, total = 0, plan.num_bytes(dtype)
        for part in plan.parts:
            raise_if_cancelled(cancel)
            target.write(_encoded(_weights(plan, part, source), dtype))
            done += _num_bytes(part, dtype)
            if on_progress is not None:
                on_progress(done, total)
        target.flush()
        os.fsync(target.fileno())


def _shapes(skeleton: PreTrainedModel) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors that a checkpoint holds, by name; tensors that parts of the model share come once."""
    seen: set[int] = set()
    shapes = {}
    for name, tensor in skeleton.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            shapes[name] = tuple(tensor.shape)
    return shapes


def _refuse(header: GgufHeader, missing: list[str], unknown: list[str]) -> None:
    if missing:
        message = f"{header.path} lacks {len(missing)} tensors of its model, such as {missing[0]}. Get the whole file."
        raise UnsupportedModel(message)
    if unknown:
        names = ", ".join(said(name) for name in unknown[:_MOST_NAMED])
        message = (
            f"{header.path} holds {len(unknown)} tensors that would be left out, such as {names}: this kind of model "
            "cannot be read exactly from GGUF. Get it as safetensors."
        )
        raise UnsupportedModel(message)


@contextmanager
def _tables(header: GgufHeader) -> Iterator[None]:
    try:
        yield
    except (NotImplementedError, KeyError, AttributeError) as error:
        message = (
            f"{header.path} is of the architecture {said(header.architecture)}, whose tensors "
            "transformers cannot name. Use the same model in safetensors format."
        )
        raise UnsupportedModel(message) from error


def _opened(header: GgufHeader) -> BinaryIO:
    try:
        return header.path.open("rb", buffering=0)
    except OSError as error:
        message = f"{header.path} cannot be read ({error.strerror}). Check the path and its permissions."
        raise ModelNotFound(message) from error


def _weights(plan: Plan, part: Part, file: BinaryIO) -> torch.Tensor:
    """One tensor of the model, in float32."""
    filled: dict[str, dict[str, torch.Tensor]] = {"tensors": {}}
    for tensor in part.sources:
        given = plan.processor.process(
            weights=_dequantised(plan.header, tensor, file),
            name=tensor.name,
            tensor_key_mapping=plan.names,
            parsed_parameters=filled,
        )
        if given.name is not None:
            filled["tensors"][part.name] = torch.from_numpy(np.ascontiguousarray(given.weights, dtype=np.float32))
        del given
    found = filled["tensors"].get(part.name)
    if found is None or tuple(found.shape) != part.shape:
        shape = None if found is None else tuple(found.shape)
        sources = ", ".join(said(tensor.name) for tensor in part.sources)
        message = f"{plan.header.path}: {sources} gives the shape {shape}; the model's {part.name} is {part.shape}."
        raise UnsupportedModel(message)
    return found


def _dequantised(header: GgufHeader, tensor: GgufTensor, file: BinaryIO) -> np.ndarray:
    """The numbers of one tensor in float32, read and dequantised some rows at a time.

    A file is read, never mapped: if it shrank under a mapping, the process would end.
    """
    from gguf import GGMLQuantizationType, dequantize

    width = tensor.shape[-1]
    rows = tensor.num_elements // width
    row_bytes = tensor.num_bytes // rows
    numbers = np.empty((rows, width), np.float32)
    file.seek(tensor.start)
    step = max(1, _SLAB // width)
    for start in range(0, rows, step):
        part = numbers[start : start + step]
        raw = np.frombuffer(_read(header, file, len(part) * row_bytes), np.uint8).reshape(len(part), row_bytes)
        part[:] = dequantize(raw, GGMLQuantizationType(tensor.type_id))
    return numbers.reshape(tensor.shape)


def _read(header: GgufHeader, file: BinaryIO, length: int) -> bytes:
    content = file.read(length)
    while len(content) < length and (more := file.read(length - len(content))):
        content += more
    if len(content) < length:
        raise changed(header)
    return content


def changed(header: GgufHeader) -> ModelNotFound:
    """The error for a file that changed since its header was read."""
    return ModelNotFound(f"{header.path} changed while it was read. Load it again once it is complete.")


def _encoded(weights: torch.Tensor, dtype: str) -> memoryview:
    """The bytes of a tensor in this dtype, without a copy where it has that dtype already."""
    converted = weights.to(_DTYPES[dtype][1]).contiguous()
    return converted.reshape(-1).view(torch.uint8).numpy().data


def _num_bytes(part: Part, dtype: str) -> int:
    return int(np.prod(part.shape, dtype=np.int64)) * _DTYPES[dtype][1].itemsize


def _safetensors_header(parts: Collection[Part], dtype: str) -> bytes:
    """Length and JSON that a safetensors file begins with."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for part in parts:
        end = start + _num_bytes(part, dtype)
        entries[part.name] = {"dtype": _DTYPES[dtype][0], "shape": part.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
