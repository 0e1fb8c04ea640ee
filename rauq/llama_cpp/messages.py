"""What parent and child send each other over pipes: a header of JSON, and numpy arrays as they are in memory."""

import json
from collections.abc import Mapping, Sequence
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple

import numpy as np

_LENGTH = 8


class Message(NamedTuple):
    """A header, and the arrays that come with it."""

    header: Mapping[str, Any]
    arrays: Sequence[np.ndarray] = ()


def send(stream: BinaryIO, message: Message) -> None:
    """Write a message.

    Raises:
        OSError: nobody reads any more.
    """
    arrays = [np.ascontiguousarray(array) for array in message.arrays]
    about = [[array.dtype.str, list(array.shape)] for array in arrays]
    header = json.dumps({**message.header, "arrays": about}).encode()
    stream.write(len(header).to_bytes(_LENGTH, "little") + header)
    stream.writelines(array.reshape(-1).view(np.uint8).data for array in arrays)
    stream.flush()


def receive(stream: BufferedReader) -> Message | None:
    """Read the next message; None once the other side has closed its end, in the middle of one too."""
    length = _exactly(stream, _LENGTH)
    header = None if length is None else _exactly(stream, int.from_bytes(length, "little"))
    if header is None:
        return None
    fields = json.loads(header)
    arrays = []
    for dtype, shape in fields.pop("arrays"):
        array = np.empty(shape, np.dtype(dtype))
        if stream.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
            return None
        arrays.append(array)
    return Message(fields, arrays)


def _exactly(stream: BufferedReader, length: int) -> bytes | None:
    content = stream.read(length)
    return content if len(content) == length else None
