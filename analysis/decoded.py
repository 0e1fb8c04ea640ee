"""How much a Parquet file unpacks to, counted before its texts are made: one text may be stored once for all rows."""

import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rauq.labels import size

VALUE = 8  # bytes counted for a value besides its text

_BATCH, _SMALL_BATCH = 4096, 32  # rows


class TooLarge(ValueError):
    """A file that unpacks to more than it may."""


def check_decoded(source: Any, *, most: int, rows: int = sys.maxsize) -> int:  # noqa: ANN401 - a path, or an open buffer
    """Count the bytes to which the first `rows` rows of a file unpack, up to `most`; the texts are not made for that.

    Raises:
        TooLarge: they unpack to more.
        OSError, pa.ArrowException, ValueError: the file is damaged.
    """
    with pq.ParquetFile(source) as found:
        metadata = found.metadata
    once, expanded = _texts_by_storage(metadata)
    unpacked = counted = 0
    with pq.ParquetFile(source, metadata=metadata, read_dictionary=once) as found:
        for batch in found.iter_batches(batch_size=_SMALL_BATCH if expanded else _BATCH):
            unpacked += sum(map(decoded_size, batch.columns))
            if unpacked > most:
                message = f"it unpacks to more than {size(most)}"
                raise TooLarge(message)
            if (counted := counted + len(batch)) >= rows:
                break
    return unpacked


def decoded_size(array: pa.Array) -> int:
    """Bytes of the texts of an array, each as often as it occurs, and 8 for every value."""
    places = VALUE * len(array)
    if isinstance(array, pa.ExtensionArray):
        return decoded_size(array.storage)
    if isinstance(array, pa.DictionaryArray) and _is_text(array.type.value_type):
        return places + _sum(pc.take(pc.binary_length(array.dictionary), array.indices))
    if isinstance(array, pa.StructArray):
        return places + sum(map(decoded_size, array.flatten()))
    if pa.types.is_nested(array.type) and hasattr(array, "flatten"):  # any kind of list
        return places + decoded_size(array.flatten())
    return places + _sum(pc.binary_length(array)) if _is_text(array.type) else places


def _texts_by_storage(metadata: pq.FileMetaData) -> tuple[list[str], list[str]]:
    """The columns of texts that are read as a dictionary and places in it, and those that pyarrow has to expand."""
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    texts = [place for place, column in enumerate(columns) if column.physical_type == "BYTE_ARRAY"]
    expanded = {place for place in texts if _has_deltas(metadata, place)}
    once = [columns[place].path for place in texts if place not in expanded]
    return once, [columns[place].path for place in expanded]


def _has_deltas(metadata: pq.FileMetaData, place: int) -> bool:
    chunks = (metadata.row_group(group).column(place) for group in range(metadata.num_row_groups))
    return any("DELTA" in encoding for chunk in chunks for encoding in chunk.encodings)


def _is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _TEXTS)


_TEXTS = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)


def _sum(lengths: pa.Array) -> int:
    return int(pc.sum(lengths).as_py() or 0)
