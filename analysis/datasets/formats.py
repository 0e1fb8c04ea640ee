"""CSV, JSONL, JSON and Parquet read as a table; what a small file may unpack to is counted before it is parsed."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.datasets.example import Rejected
from analysis.datasets.table import (
    MOST_COLUMNS,
    MOST_ROWS,
    Table,
    cut_note,
    encoding_of,
    lines_of,
    make_table,
    start_of,
)
from rauq.errors import InvalidInput
from rauq.labels import size

_DELIMITERS = (",", ";", "\t")
_SAMPLE = 20  # records
MOST_VALUES = 1_000_000  # of one line


class _Broken(NamedTuple):
    """Why a record cannot be divided into cells; `last`: the start of the next one is unknown."""

    reason: str
    last: bool


def read_csv(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows below the header; a row with more or fewer cells than the header is rejected.

    Raises:
        InvalidInput: no header, no row, a line of more than 1,000,000 cells, or an encoding that is not known.
    """
    encoding, notes = encoding_of(content, name)
    records = _records(content, encoding, _delimiter(content, encoding))
    header = next(records, None)
    if not isinstance(header, list):
        message = (
            f"{name} has no header: {header.reason if header else 'it is empty'}. Name the columns in the first row."
        )
        raise InvalidInput(message)
    read: dict[int, list[str]] = {}
    rejected = []
    for number, record in enumerate(islice(records, rows), 1):
        if reason := _reason(record, len(header)):
            rejected.append(Rejected(number, reason))
        elif isinstance(record, list):
            read[number] = record
    left_out = cut_note(sum(1 for _ in records), rows=rows)
    return make_table(name, header, read, rejected=rejected, notes=(*notes, *left_out))


def _records(content: bytes, encoding: str, delimiter: str) -> Iterator[list[str] | _Broken]:
    """Every record that is no empty line; the last one is broken where a quote is never closed."""
    reader = csv.reader(_narrow(lines_of(content, encoding), delimiter), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            if record := next(reader):
                yield record
        except StopIteration:
            return
        except csv.Error as error:
            broken = _broken(error, start, reader.line_num)
            yield broken
            if broken.last:
                return


def _narrow(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """The lines, counted before they are divided: a million empty cells fit into a megabyte."""
    for number, line in enumerate(lines, 1):
        if (cells := line.count(delimiter)) > MOST_VALUES:
            message = (
                f"Line {number} has {cells:,} cells; at most {MOST_VALUES:,} can be read. Remove unneeded columns."
            )
            raise InvalidInput(message)
        yield line


def _broken(error: csv.Error, start: int, end: int) -> _Broken:
    if start == end and "end of data" not in str(error):
        what = (
            "has a cell that is too long"
            if "limit" in str(error)
            else "is not valid CSV. Double the quotes inside quotes"
        )
        return _Broken(f"line {start} {what} ({error}).", last=False)
    return _Broken(
        f"a quote opened in line {start} is not closed where the cell ends ({error}), "
        f"so nothing from line {start} on can be divided into rows. Double the quotes inside quotes.",
        last=True,
    )


def _reason(record: list[str] | _Broken, width: int) -> str:
    if isinstance(record, _Broken):
        return record.reason
    if len(record) == width:
        return ""
    cells = f"{len(record)} cell{'' if len(record) == 1 else 's'}"
    return f"it has {cells}, but the header has {width}. Quote cells that contain the delimiter."


def _delimiter(content: bytes, encoding: str) -> str:
    return max(_DELIMITERS, key=lambda delimiter: _fit(list(islice(_records(content, encoding, delimiter), _SAMPLE))))


def _fit(records: list[list[str] | _Broken]) -> tuple[bool, int, int]:
    """How well records are divided: into several columns, in as many records as can be, into as many as can be."""
    widths = [len(record) for record in records if isinstance(record, list)]
    width = widths[0] if widths else 0
    return width > 1, widths[1:].count(width), width


LARGEST_LIST = 64 * 2**20  # bytes: unlike lines, a list is parsed as a whole
MOST_LISTED = 5_000_000  # values of such a list


def read_jsonl(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """One row a line that holds an object, of the first `rows`; columns are the keys of all, in order of first use.

    Raises:
        InvalidInput: no line holds an object, or an encoding that is not known.
    """
    encoding, notes = encoding_of(content, name)
    lines = ((number, line) for number, line in enumerate(lines_of(content, encoding), 1) if line.strip())
    first = ((number, _parsed(line, MOST_VALUES)) for number, line in islice(lines, rows))
    objects, rejected = _split_values(first)
    left_out = cut_note(sum(1 for _ in lines), rows=rows)
    return _table(name, objects, rejected=rejected, notes=(*notes, *left_out))


def read_json(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """One row an object of the list, of the first `rows`; a file without a list is read as JSONL.

    Raises:
        InvalidInput: no list of objects, or one of more than 64 MiB or about 5,000,000 values.
    """
    encoding, notes = encoding_of(content, name)
    if not start_of(content, encoding).lstrip().startswith("["):
        return read_jsonl(content, name, rows=rows)
    if len(content) > LARGEST_LIST:
        message = f"{name} holds {size(len(content))} in one list; at most {size(LARGEST_LIST)}. Save it as JSONL."
        raise InvalidInput(message)
    values = _parsed(content.decode(encoding), MOST_LISTED)
    if isinstance(values, str):
        message = f"{name} is not a list of objects: {values}"
        raise InvalidInput(message)
    objects, rejected = _split_values(enumerate(values[:rows], 1))
    left_out = cut_note(max(0, len(values) - rows), rows=rows)
    return _table(name, objects, rejected=rejected, notes=(*notes, *left_out))


def _parsed(text: str, most: int) -> Any:  # noqa: ANN401 - whatever the text holds
    """The value of a JSON text; a string stands for the reason why there is none, since no text is a row.

    Values are counted by the marks before each of them, in texts too: empty lists take twenty times their text.
    """
    if (values := sum(map(text.count, ",[{"))) > most:
        return f"it holds about {values:,} values; at most {most:,} can be read at once. Save shorter lines, as JSONL."
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        return "its values are nested too deeply."
    except ValueError as error:  # no JSON, a key that stands twice, a number too long
        return f"it is not valid JSON ({error})."
    return "it is a text, not an object." if isinstance(value, str) else value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) < len(pairs):
        message = "a key occurs twice in one object"
        raise ValueError(message)
    return values


def _split_values(values: Iterable[tuple[int, Any]]) -> tuple[dict[int, dict[str, Any]], list[Rejected]]:
    objects, rejected = {}, []
    for number, value in values:
        if isinstance(value, dict):
            objects[number] = value
        else:
            reason = value if isinstance(value, str) else "it is not an object of names and values."
            rejected.append(Rejected(number, reason))
    return objects, rejected


def _table(
    name: str, objects: Mapping[int, Mapping[str, Any]], *, rejected: list[Rejected], notes: tuple[str, ...]
) -> Table:
    columns: dict[str, None] = {}
    for value in objects.values():
        columns.update(dict.fromkeys(value))
        if len(columns) > MOST_COLUMNS:
            break  # the table refuses them; rows of that width would only fill memory first
    width = () if len(columns) > MOST_COLUMNS else tuple(columns)
    rows = {number: [value.get(column) for column in width] for number, value in objects.items()}
    return make_table(name, tuple(columns), rows, rejected=rejected, notes=notes)


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
