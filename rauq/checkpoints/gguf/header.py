"""The header of a GGUF file: what it says of its model, and where its tensors lie; no weight is read.

A file can come from anyone. Every count, length and offset is checked against the file before it is used, so that a
damaged or hostile file ends in one of our errors and takes no more memory than its own header.

Ours, because gguf's reader trusts those numbers, and needs the whole file, where the hub gives its beginning.

Source: the GGUF specification, versions 2 and 3 (ggml, docs/gguf.md).
"""

import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from rauq.checkpoints.gguf.cursor import STORAGE_TYPES, Cursor, OutOfBytes, StorageType, Strings, Value, damaged
from rauq.errors import ModelNotFound, UnsupportedModel

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FIRST_READ = 8 * 2**20  # most headers fit: 150,000 tokens with their merges take about 5 MB
_LONGEST_HEADER = 2**26  # the longest known has 17 MB
_MOST_ENTRIES = 2**16  # metadata entries, and tensors; the largest models have a few thousand
_MOST_DIMENSIONS = 4  # as in ggml
_LARGEST_TENSOR = 2**48  # elements
_LARGEST_ALIGNMENT = 2**20
_DEFAULT_ALIGNMENT = 32
_LONGEST_QUOTE = 60  # characters of text from a file in a message
_SPLIT_NAME = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)

Read = Callable[[int, int], bytes]  # so many bytes from a place on, fewer where the file ends before
Kind = TypeVar("Kind", bool, int, float, str, Strings, np.ndarray)


@dataclass(frozen=True, kw_only=True)
class GgufTensor:
    """Where one tensor lies: `shape` slowest dimension first, as in torch; `start` counts from the file's beginning."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    start: int
    num_bytes: int

    @property
    def storage(self) -> StorageType:
        """How its elements are stored."""
        return STORAGE_TYPES[self.type_id]

    @property
    def num_elements(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class GgufHeader:
    """All that a GGUF file says before its weights: metadata by key, tensors in the order of their table.

    `path` names the file in messages; `read` gives bytes of it.
    """

    path: Path
    read: Read
    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[GgufTensor, ...]
    data_start: int
    file_size: int

    def get(self, key: str, kind: type[Kind]) -> Kind | None:
        """The value of a key, None where the file has no such key; an int also counts as a float.

        Raises:
            ModelNotFound: it is of another type.
        """
        value = self.metadata.get(key)
        if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
            return value
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        raise damaged(self.path, f"{said(key)} is not {_KIND_NAMES[kind]}")

    def texts(self, key: str) -> list[str] | None:
        """The strings of an array, None where the file has no such key.

        Raises:
            ModelNotFound: it is no array of strings, or not all of them are UTF-8.
        """
        strings = self.get(key, Strings)
        try:
            return None if strings is None else strings.decode()
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"{said(key)} has text that is not UTF-8") from error

    @property
    def architecture(self) -> str:
        """What general.architecture says, such as llama; "" where it is missing."""
        return self.get("general.architecture", str) or ""


_KIND_NAMES: Mapping[type, str] = MappingProxyType(
    {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        Strings: "a list of texts",
        np.ndarray: "a list of numbers",
    }
)


def read_header(path: str | Path) -> GgufHeader:
    """Read the header of a GGUF file.

    Raises:
        ModelNotFound: there is no such file, it is no GGUF file, or it is truncated or damaged.
        UnsupportedModel: a split or big-endian file, or a version or a type of tensor that cannot be read.
    """
    place = Path(path)
    try:
        mode = place.stat()
        if not stat.S_ISREG(mode.st_mode):  # reading from a pipe could block forever
            message = f"{place} is not a file. Give the path of a .gguf file."
            raise ModelNotFound(message)
        return header_from(partial(_bytes_of, place), path=place, size=mode.st_size)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"The file {str(place)!r} cannot be read ({reason}). Check the path and its permissions."
        raise ModelNotFound(message) from error


def said(text: str) -> str:
    """Text from a file, for a message: on one line, shortened, with every character escaped that is not ASCII."""
    return ascii(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "...")


def header_from(read: Read, *, path: Path, size: int) -> GgufHeader:
    """Parse a growing beginning of a file of `size` bytes, since the header does not say how long it is.

    Raises:
        ModelNotFound: it is no GGUF file, or it is truncated or damaged.
        UnsupportedModel: as of `read_header`.
    """
    length = min(size, _FIRST_READ)
    while True:
        content = read(0, length)
        if content[: len(_MAGIC)] != _MAGIC:
            message = f"{path} is not a GGUF file: it does not begin with GGUF. Give the path of a .gguf file."
            raise ModelNotFound(message)
        try:
            return _parse(Cursor(path=path, content=content, file_size=size), read)
        except OutOfBytes as error:
            if len(content) < length or length >= size:
                raise damaged(path, "it ends within its header") from error
            if error.needed > _LONGEST_HEADER:
                raise damaged(path, f"its header is longer than {_LONGEST_HEADER // 2**20} MB") from error
            length = min(size, max(4 * length, error.needed), _LONGEST_HEADER)


def _bytes_of(path: Path, start: int, length: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        return file.read(length)


def _parse(cursor: Cursor, read: Read) -> GgufHeader:
    cursor.skip(len(_MAGIC))
    version = _version(cursor)
    num_tensors, num_entries = cursor.uint64(), cursor.uint64()
    for count, what in ((num_tensors, "tensors"), (num_entries, "metadata entries")):
        if count > _MOST_ENTRIES:
            raise damaged(cursor.path, f"it claims {count} {what}, and at most {_MOST_ENTRIES} are allowed")
    metadata: dict[str, Value] = {}
    for _ in range(num_entries):
        key = cursor.text("the name of a metadata entry")
        if key in metadata:
            raise damaged(cursor.path, f"the metadata entry {said(key)} occurs twice")
        metadata[key] = cursor.value(said(key))
    _refuse_parts(cursor.path, metadata)
    table = [_entry(cursor) for _ in range(num_tensors)]
    alignment = _alignment(cursor.path, metadata)
    data_start = -(-cursor.position // alignment) * alignment
    return GgufHeader(
        path=cursor.path,
        read=read,
        version=version,
        metadata=MappingProxyType(metadata),
        tensors=_placed(cursor, table, data_start, alignment),
        data_start=data_start,
        file_size=cursor.file_size,
    )


def _version(cursor: Cursor) -> int:
    version = cursor.uint32()
    if version in _VERSIONS:
        return version
    if version and not version & 0xFFFF:
        message = f"{cursor.path} is a big-endian GGUF file. Get the little-endian one."
    else:
        message = f"{cursor.path} is GGUF version {version}; versions 2 and 3 can be read. Convert the model again."
    raise UnsupportedModel(message)


def _refuse_parts(path: Path, metadata: Mapping[str, Value]) -> None:
    named = _SPLIT_NAME.search(path.name)
    counts = (metadata.get("split.count"), int(named[2]) if named else None)
    if any(isinstance(count, int) and count > 1 for count in counts):
        message = (
            f"{path} is one part of a split model. Join the parts with llama-gguf-split --merge, and give the result."
        )
        raise UnsupportedModel(message)


def _alignment(path: Path, metadata: Mapping[str, Value]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 1 <= alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise damaged(path, "general.alignment is not a power of two")
    return alignment


def _entry(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape in torch's order, type and offset of one tensor."""
    name = cursor.text("the name of a tensor")
    dimensions = cursor.uint32()
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise damaged(cursor.path, f"the tensor {said(name)} has {dimensions} dimensions")
    shape = tuple(cursor.uint64() for _ in range(dimensions))[::-1]
    return name, shape, cursor.uint32(), cursor.uint64()


def _placed(
    cursor: Cursor, table: list[tuple[str, tuple[int, ...], int, int]], data_start: int, alignment: int
) -> tuple[GgufTensor, ...]:
    """The tensors of the table, once they are known to lie in the file, apart from each other."""
    tensors = []
    for name, shape, type_id, offset in table:
        num_bytes = _num_bytes(cursor.path, name, shape, type_id)
        if offset % alignment or data_start + offset + num_bytes > cursor.file_size:
            raise damaged(cursor.path, f"the tensor {said(name)} lies outside the file or is not aligned")
        start = data_start + offset
        tensors.append(GgufTensor(name=name, shape=shape, type_id=type_id, start=start, num_bytes=num_bytes))
    in_order = sorted(tensors, key=lambda tensor: tensor.start)
    for before, after in pairwise(in_order):
        if before.start + before.num_bytes > after.start:
            raise damaged(cursor.path, f"the tensors {said(before.name)} and {said(after.name)} overlap")
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise damaged(cursor.path, "two tensors have the same name")
    return tuple(tensors)


def _num_bytes(path: Path, name: str, shape: tuple[int, ...], type_id: int) -> int:
    storage = STORAGE_TYPES.get(type_id)
    if storage is None:
        known = ", ".join(kind.name for kind in STORAGE_TYPES.values())
        message = f"{path} stores the tensor {said(name)} as type {type_id}, which cannot be read. Get one of {known}."
        raise UnsupportedModel(message)
    if not 1 <= prod(shape) <= _LARGEST_TENSOR or shape[-1] % storage.elements:
        raise damaged(path, f"the tensor {said(name)} of type {storage.name} cannot have the shape {shape}")
    return prod(shape) // storage.elements * storage.size
