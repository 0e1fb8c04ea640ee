"""Checksums of a shard's two files, kept with its arrays: neither format sees by itself that a bit was changed."""

import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save

_NAME, _CHUNK, _LENGTH = "crc32", 2**20, 8  # a file of safetensors begins with the length of its header, in 8 bytes


def with_checksums(arrays: dict[str, np.ndarray], table: bytes) -> bytes:
    """The file of a shard's arrays; it holds the checksum of their bytes, and of the file of the table."""
    content = save(arrays)
    data = zlib.crc32(content[_begin(content) :])
    return save(arrays, metadata={_NAME: f"{data:08x} {zlib.crc32(table):08x}"})


def check_bytes(path: Path, metadata: dict[str, str] | None, table: bytes) -> None:
    """See that the arrays at `path` and the table are, bit by bit, what was written; older runs do not say.

    Raises:
        ValueError: one of them is not.
        OSError: the arrays cannot be read.
    """
    written = (metadata or {}).get(_NAME)
    if written is None:
        return
    data, of_table = written.split()
    if f"{zlib.crc32(table):08x}" != of_table:
        message = "its table was changed since it was written"
        raise ValueError(message)
    if f"{_crc32(path):08x}" != data:
        message = f"{path.name} was changed since it was written"
        raise ValueError(message)


def _crc32(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        file.seek(_begin(file.read(_LENGTH)))
        while chunk := file.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def _begin(content: bytes) -> int:
    return _LENGTH + int.from_bytes(content[:_LENGTH], "little")
