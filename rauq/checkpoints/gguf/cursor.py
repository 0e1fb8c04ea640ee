"""Numbers, texts and lists from the beginning of a GGUF file, each checked, and the types in which it stores values."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rauq.errors import ModelNotFound


class StorageType(NamedTuple):
    """How a tensor's elements are stored: in blocks of `elements` that take `size` bytes each."""

    name: str
    elements: int
    size: int


# ggml.h, enum ggml_type; integer types and those that only exist while computing are left out.
STORAGE_TYPES = MappingProxyType(
    {
        0: StorageType("F32", 1, 4),
        1: StorageType("F16", 1, 2),
        2: StorageType("Q4_0", 32, 18),
        3: StorageType("Q4_1", 32, 20),
        6: StorageType("Q5_0", 32, 22),
        7: StorageType("Q5_1", 32, 24),
        8: StorageType("Q8_0", 32, 34),
        10: StorageType("Q2_K", 256, 84),
        11: StorageType("Q3_K", 256, 110),
        12: StorageType("Q4_K", 256, 144),
        13: StorageType("Q5_K", 256, 176),
        14: StorageType("Q6_K", 256, 210),
        16: StorageType("IQ2_XXS", 256, 66),
        17: StorageType("IQ2_XS", 256, 74),
        18: StorageType("IQ3_XXS", 256, 98),
        19: StorageType("IQ1_S", 256, 50),
        20: StorageType("IQ4_NL", 32, 18),
        21: StorageType("IQ3_S", 256, 110),
        22: StorageType("IQ2_S", 256, 82),
        23: StorageType("IQ4_XS", 256, 136),
        29: StorageType("IQ1_M", 256, 56),
        30: StorageType("BF16", 1, 2),
        34: StorageType("TQ1_0", 256, 54),
        35: StorageType("TQ2_0", 256, 66),
        39: StorageType("MXFP4", 32, 17),
        40: StorageType("NVFP4", 64, 36),
    }
)

# llama.h, enum llama_ftype: what general.file_type says.
FILE_TYPES = MappingProxyType(
    {
        0: "F32",
        1: "F16",
        2: "Q4_0",
        3: "Q4_1",
        7: "Q8_0",
        8: "Q5_0",
        9: "Q5_1",
        10: "Q2_K",
        11: "Q3_K_S",
        12: "Q3_K_M",
        13: "Q3_K_L",
        14: "Q4_K_S",
        15: "Q4_K_M",
        16: "Q5_K_S",
        17: "Q5_K_M",
        18: "Q6_K",
        19: "IQ2_XXS",
        20: "IQ2_XS",
        21: "Q2_K_S",
        22: "IQ3_XS",
        23: "IQ3_XXS",
        24: "IQ1_S",
        25: "IQ4_NL",
        26: "IQ3_S",
        27: "IQ3_M",
        28: "IQ2_S",
        29: "IQ2_M",
        30: "IQ4_XS",
        31: "IQ1_M",
        32: "BF16",
        36: "TQ1_0",
        37: "TQ2_0",
        38: "MXFP4",
        39: "NVFP4",
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


class OutOfBytes(Exception):
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
class Cursor:
    """A position in the beginning of a file of `file_size` bytes, of which `content` was read.

    Every method raises OutOfBytes where `content` ends too early, and ModelNotFound where the file itself does.
    """

    path: Path
    content: bytes = field(repr=False)
    file_size: int
    position: int = 0

    def skip(self, length: int) -> int:
        """Pass over some bytes and return where they begin."""
        start, self.position = self.position, self.position + length
        if self.position > len(self.content):
            raise OutOfBytes(self.position)
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
                raise OutOfBytes(position + _LENGTH.size)
            position += _LENGTH.size + _LENGTH.unpack_from(content, position)[0]
        self._require(position - self.position, what)
        if position > len(content):
            raise OutOfBytes(position)
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
