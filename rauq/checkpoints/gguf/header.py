"""The header of a GGUF file: what it says of its model, and where its tensors lie; no weight is read.

A file can come from anyone. Every count, length and offset is checked against the file before it is used, so that a
damaged or hostile file ends in one of our errors and takes no more memory than its own header.

Ours, because gguf's reader trusts those numbers, and needs the whole file, where the hub gives its beginning.

Source: the GGUF specification, versions 2 and 3 (ggml, docs/gguf.md).
"""

import re
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

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


class _StorageType(NamedTuple):
    """How a tensor's elements are stored: in blocks of `elements` that take `size` bytes each."""

    name: str
    elements: int
    size: int


# ggml.h, enum ggml_type; integer types and those that only exist while computing are left out.
STORAGE_TYPES = MappingProxyType(
    {
        0: _StorageType("F32", 1, 4),
        1: _StorageType("F16", 1, 2),
        2: _StorageType("Q4_0", 32, 18),
        3: _StorageType("Q4_1", 32, 20),
        6: _StorageType("Q5_0", 32, 22),
        7: _StorageType("Q5_1", 32, 24),
        8: _StorageType("Q8_0", 32, 34),
        10: _StorageType("Q2_K", 256, 84),
        11: _StorageType("Q3_K", 256, 110),
        12: _StorageType("Q4_K", 256, 144),
        13: _StorageType("Q5_K", 256, 176),
        14: _StorageType("Q6_K", 256, 210),
        16: _StorageType("IQ2_XXS", 256, 66),
        17: _StorageType("IQ2_XS", 256, 74),
        18: _StorageType("IQ3_XXS", 256, 98),
        19: _StorageType("IQ1_S", 256, 50),
        20: _StorageType("IQ4_NL", 32, 18),
        21: _StorageType("IQ3_S", 256, 110),
        22: _StorageType("IQ2_S", 256, 82),
        23: _StorageType("IQ4_XS", 256, 136),
        29: _StorageType("IQ1_M", 256, 56),
        30: _StorageType("BF16", 1, 2),
        34: _StorageType("TQ1_0", 256, 54),
        35: _StorageType("TQ2_0", 256, 66),
        39: _StorageType("MXFP4", 32, 17),
        40: _StorageType("NVFP4", 64, 36),
    }
)

_FLOAT32, _BOOL, _STRING, _ARRAY = 6, 7, 8, 9
_NUMBERS: Mapping[int, str] = MappingProxyType(
    {
        0: "<u1",
        1: "<i1",
        2: "<u2",
        3: "<i2",
        4: "<u4",
        5: "<i4",
        _FLOAT32: "<f4",
        _BOOL: "|u1",
        10: "<u8",
        11: "<i8",
        12: "<f8",
    }
)
_LENGTH = struct.Struct("<Q")


class _OutOfBytes(Exception):
    """The part of the file that was read ends before the header does, which takes at least `needed` bytes."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


@dataclass(frozen=True, kw_only=True)
class Strings:
    """A list of texts as the file holds it: each after its length in 8 bytes; decoded only when asked for."""

    raw: bytes = field(repr=False)
    count: int

    def __len__(self) -> int:
        return self.count

    def decode(self) -> list[str]:
        """The texts.

        Raises:
            UnicodeDecodeError: one of them is not UTF-8.
        """
        raw, position, texts = self.raw, 0, []
        for _ in range(self.count):
            start = position + _LENGTH.size
            position = start + _LENGTH.unpack_from(raw, position)[0]
            texts.append(raw[start:position].decode())
        return texts


Value = bool | int | float | str | Strings | np.ndarray


@dataclass(kw_only=True)
class _Cursor:
    """A position in the beginning of a file of `file_size` bytes, of which `content` was read.

    Every method raises _OutOfBytes where `content` ends too early, and ModelNotFound where the file itself does.
    """

    path: Path
    content: bytes = field(repr=False)
    file_size: int
    position: int = 0

    def skip(self, length: int) -> int:
        """Pass over some bytes and return where they begin."""
        start, self.position = self.position, self.position + length
        if self.position > len(self.content):
            raise _OutOfBytes(self.position)
        return start

    def uint32(self) -> int:
        """A whole number of 4 bytes."""
        return self._whole(4)

    def uint64(self) -> int:
        """A whole number of 8 bytes."""
        return self._whole(8)

    def text(self, what: str) -> str:
        """A text after its length."""
        length = self.uint64()
        self._require(length, what)
        start = self.skip(length)
        try:
            return self.content[start : self.position].decode()
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"{what} has text that is not UTF-8") from error

    def value(self, what: str) -> Value:
        """A value after its type; `what` names it in errors."""
        kind = self.uint32()
        if kind == _STRING:
            return self.text(what)
        if kind == _ARRAY:
            return self._array(what)
        number = self._numbers(kind, 1, what)[0]
        if kind == _FLOAT32:
            return float(str(number))  # 1e-05, as was meant, not 9.999999747378752e-06
        value: Value = number.item()
        return value

    def _array(self, what: str) -> Strings | np.ndarray:
        kind, count = self.uint32(), self.uint64()
        if kind == _ARRAY:
            raise damaged(self.path, f"{what} is a list of lists")
        return self._strings(count, what) if kind == _STRING else self._numbers(kind, count, what)

    def _numbers(self, kind: int, count: int, what: str) -> np.ndarray:
        """An array (count,) that owns its memory."""
        if kind not in _NUMBERS:
            raise damaged(self.path, f"{what} has the unknown type {kind}")
        dtype = np.dtype(_NUMBERS[kind])
        self._require(count * dtype.itemsize, what)
        start = self.skip(count * dtype.itemsize)
        numbers = np.frombuffer(self.content, dtype, count, start)
        return numbers.astype(bool) if kind == _BOOL else numbers.copy()

    def _strings(self, count: int, what: str) -> Strings:
        self._require(count * _LENGTH.size, what)
        content, position, last = self.content, self.position, len(self.content) - _LENGTH.size
        for _ in range(count):  # a loop without calls of ours: a file has up to half a million of them
            if position > last:
                self._require(position + _LENGTH.size - self.position, what)
                raise _OutOfBytes(position + _LENGTH.size)
            position += _LENGTH.size + _LENGTH.unpack_from(content, position)[0]
        self._require(position - self.position, what)
        if position > len(content):
            raise _OutOfBytes(position)
        start, self.position = self.position, position
        return Strings(raw=content[start:position], count=count)

    def _whole(self, size: int) -> int:
        start = self.skip(size)
        return int.from_bytes(self.content[start : self.position], "little")

    def _require(self, length: int, what: str) -> None:
        if length > self.file_size - self.position:
            raise damaged(self.path, f"{what} goes past the end of the file")


def damaged(path: Path, what: str) -> ModelNotFound:
    """The error for a file that contradicts itself or the format."""
    again = "The file is damaged, or its download was not finished. Get it again."
    return ModelNotFound(f"{path} is not a usable GGUF file: {what}. {again}")


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
    def storage(self) -> _StorageType:
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
            return _parse(_Cursor(path=path, content=content, file_size=size), read)
        except _OutOfBytes as error:
            if len(content) < length or length >= size:
                raise damaged(path, "it ends within its header") from error
            if error.needed > _LONGEST_HEADER:
                raise damaged(path, f"its header is longer than {_LONGEST_HEADER // 2**20} MB") from error
            length = min(size, max(4 * length, error.needed), _LONGEST_HEADER)


def _bytes_of(path: Path, start: int, length: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        return file.read(length)


def _parse(cursor: _Cursor, read: Read) -> GgufHeader:
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


def _version(cursor: _Cursor) -> int:
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
        message = f"{path} is one part of a split model. {_how_to_join(path)}"
        raise UnsupportedModel(message)


def _how_to_join(path: Path) -> str:
    """What to do with a part of a split model; the other parts are named like it."""
    if (named := _SPLIT_NAME.search(path.name)) is None:
        return "Join the parts with llama-gguf-split --merge, and give the result."
    bare = path.name[: named.start()]
    first, *others = [f"{bare}-{part:05}-of-{named[2]}.gguf" for part in range(1, int(named[2]) + 1)]
    missing = [part for part in (first, *others) if path.exists() and not path.with_name(part).exists()]
    lacking = f"Its parts {', '.join(missing)} are missing. Get them first. " if missing else ""
    return f"{lacking}Join the parts, and give the result: llama-gguf-split --merge {first} {bare}.gguf"


def _alignment(path: Path, metadata: Mapping[str, Value]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 1 <= alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise damaged(path, "general.alignment is not a power of two")
    return alignment


def _entry(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape in torch's order, type and offset of one tensor."""
    name = cursor.text("the name of a tensor")
    dimensions = cursor.uint32()
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise damaged(cursor.path, f"the tensor {said(name)} has {dimensions} dimensions")
    shape = tuple(cursor.uint64() for _ in range(dimensions))[::-1]
    return name, shape, cursor.uint32(), cursor.uint64()


def _placed(
    cursor: _Cursor, table: list[tuple[str, tuple[int, ...], int, int]], data_start: int, alignment: int
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
