"""Parquet read as a table; what a small file unpacks to is counted before it is read."""

import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.datasets.table import MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput
from rauq.labels import size

MOST_BYTES = 512 * 2**20  # of unpacked values; of larger files, 5 KiB a row


def read_parquet(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows of a Parquet file.

    Raises:
        InvalidInput: no Parquet, damaged, no row, or more than 512 MiB of values, 5 KiB a row in a large file.
    """
    try:
        read_rows = min(rows, pq.read_metadata(pa.BufferReader(content)).num_rows)
        most = max(MOST_BYTES, MOST_BYTES // MOST_ROWS * read_rows)
        check_decoded(pa.BufferReader(content), most=most, rows=rows)
        file = pq.ParquetFile(pa.BufferReader(content))
        read = _rows(file, rows)
    except TooLarge as error:
        message = f"{name} cannot be read: {error}. Split it, or leave out columns."
        raise InvalidInput(message) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # no UTF-8, dates out of range
        message = f"{name} is not a readable Parquet file ({' '.join(str(error).split())[:200]}). Write it again."
        raise InvalidInput(message) from error
    left_out = cut_note(max(0, file.metadata.num_rows - rows), rows=rows)
    return make_table(name, file.schema_arrow.names, dict(enumerate(read, 1)), notes=left_out)


def _rows(file: pq.ParquetFile, most: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for batch in file.iter_batches(batch_size=_SMALL_BATCH):
        rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if len(rows) >= most:
            break
    return rows[:most]


_VALUE = 8  # bytes counted for a value besides its text

_BATCH, _SMALL_BATCH = 4096, 32  # rows
_NUMBER = 16  # bytes of the widest number


class TooLarge(ValueError):
    """A file that unpacks to more than it may."""


def check_decoded(
    source: Any,  # noqa: ANN401 - a path, or an open buffer
    *,
    most: int,
    rows: int = sys.maxsize,
    columns: Sequence[str] | None = None,
) -> int:
    """Count the bytes to which the first `rows` rows of a file unpack, up to `most`; the texts are not made for that.

    `columns`: count these only, as far as they are there.

    Raises:
        TooLarge: they unpack to more.
        OSError, pa.ArrowException, ValueError: the file is damaged.
    """
    with pq.ParquetFile(source) as found:
        metadata = found.metadata
    once, expanded = _storage(metadata)
    unpacked = counted = 0
    with pq.ParquetFile(source, metadata=metadata, read_dictionary=once) as found:
        for batch in found.iter_batches(batch_size=_SMALL_BATCH if expanded else _BATCH, columns=columns):
            unpacked += sum(map(_decoded_size, batch.columns))
            if unpacked > most:
                message = f"it unpacks to more than {size(most)}"
                raise TooLarge(message)
            if (counted := counted + len(batch)) >= rows:
                break
    return unpacked


def _decoded_size(array: pa.Array) -> int:
    """Bytes of the texts of an array, each as often as it occurs, and 8 for every value."""
    places = _VALUE * len(array)
    if inner := _inner(array):
        return places + sum(map(_decoded_size, inner))
    if isinstance(array, pa.DictionaryArray) and _is_text(array.type.value_type):
        return places + _sum(pc.take(pc.binary_length(array.dictionary), array.indices))
    return places + _sum(pc.binary_length(array)) if _is_text(array.type) else max(places, array.nbytes)


def _inner(array: pa.Array) -> list[pa.Array]:
    """The arrays within an array; none where it has values itself."""
    if isinstance(array, pa.ExtensionArray):
        return [array.storage]
    if isinstance(array, pa.StructArray):
        return list(array.flatten())
    if isinstance(array, pa.MapArray):
        return [array.keys, array.items]
    return [array.flatten()] if pa.types.is_nested(array.type) and hasattr(array, "flatten") else []


def _storage(metadata: pq.FileMetaData) -> tuple[list[str], bool]:
    """The columns of texts that are read as a dictionary and places in it, and whether pyarrow has to expand others."""
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    texts = [place for place, column in enumerate(columns) if column.physical_type == "BYTE_ARRAY"]
    once = [columns[place].path for place in texts if not _has_deltas(metadata, place)]
    return once, len(once) < len(texts) or any(column.length > _NUMBER for column in columns)


def _has_deltas(metadata: pq.FileMetaData, place: int) -> bool:
    chunks = (metadata.row_group(group).column(place) for group in range(metadata.num_row_groups))
    return any("DELTA" in encoding for chunk in chunks for encoding in chunk.encodings)


def _is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _TEXTS)


_TEXTS = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)


def _sum(lengths: pa.Array) -> int:
    return int(pc.sum(lengths).as_py() or 0)
