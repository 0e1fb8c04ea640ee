"""Parquet, read in small batches, so that a small file that unpacks to a large one does not fill the memory."""

from typing import TYPE_CHECKING, Any

from analysis.datasets.table import MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput
from rauq.labels import size

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

MOST_BYTES = 512 * 2**20  # of unpacked values

_BATCH = 32


def read_parquet(content: bytes, name: str) -> Table:
    """The first rows of a Parquet file.

    Raises:
        InvalidInput: no Parquet, damaged, no row, or more than 512 MiB of values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        rows = _rows(file, name)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # no UTF-8, dates out of range
        if isinstance(error, InvalidInput):
            raise
        message = f"{name} is no readable Parquet file ({' '.join(str(error).split())[:200]}). Write it again."
        raise InvalidInput(message) from error
    left_out = max(0, file.metadata.num_rows - MOST_ROWS)
    return make_table(name, file.schema_arrow.names, dict(enumerate(rows, 1)), notes=cut_note(left_out))


def _rows(file: "ParquetFile", name: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    unpacked = 0
    for batch in file.iter_batches(batch_size=_BATCH):
        columns = [column.to_pylist() for column in batch.columns]
        # Not the batch's own size: a text that stands in every row may be in it once.
        unpacked += sum(len(str(value)) for column in columns for value in column)
        if unpacked > MOST_BYTES:
            message = f"{name} unpacks to more than {size(MOST_BYTES)}. Split it, or leave out columns."
            raise InvalidInput(message)
        rows += zip(*columns, strict=True)
        if len(rows) >= MOST_ROWS:
            break
    return rows[:MOST_ROWS]
