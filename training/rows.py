"""Rows of equal length made of whole documents, the batches of training."""

from bisect import insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_OPEN = 256  # rows that are filled at the same time


def pack(documents: Sequence[Sequence[int]], *, length: int, pad: int) -> NDArray[np.uint16]:
    """Return rows (R, length) of whole documents, each row filled up with `pad`; longer documents are left out.

    A document goes to the fullest open row that still has room for it, so that little is padding.
    """
    rows: list[list[int]] = []
    open_rows: list[tuple[int, int]] = []  # (room, row), in ascending order
    for tokens in documents:
        if len(tokens) > length:
            continue
        place = next((place for place, (room, _) in enumerate(open_rows) if room >= len(tokens)), None)
        if place is None:
            rows.append([])
            room, row = length, len(rows) - 1
        else:
            room, row = open_rows.pop(place)
        rows[row].extend(tokens)
        insort(open_rows, (room - len(tokens), row))
        del open_rows[: max(0, len(open_rows) - _OPEN)]  # the fullest rows are closed
    packed = np.full((len(rows), length), pad, dtype=np.uint16)
    for row, filled in enumerate(rows):
        packed[row, : len(filled)] = filled
    return packed
