"""A table from a file or an upload: CSV, JSONL, JSON or Parquet, told by the name and checked by the content."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from analysis.datasets.csv_file import read_csv
from analysis.datasets.json_file import read_json, read_jsonl
from analysis.datasets.parquet_file import read_parquet
from analysis.datasets.table import Table
from rauq.errors import InvalidInput
from rauq.labels import size

LARGEST_UPLOAD = 64 * 2**20  # bytes
LARGEST_FILE = 200 * 2**20

_PARQUET = b"PAR1"
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or an Excel file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"%PDF", "a PDF"),
)
_READERS: MappingProxyType[str, Callable[[bytes, str], Table]] = MappingProxyType(
    {
        ".csv": read_csv,
        ".tsv": read_csv,
        ".jsonl": read_jsonl,
        ".ndjson": read_jsonl,
        ".json": read_json,
        ".parquet": read_parquet,
    }
)
ENDINGS = tuple(_READERS)


def read_table(content: bytes, name: str) -> Table:
    """The rows of an upload of at most 64 MiB; `name` is the file's name.

    Raises:
        InvalidInput: too large, empty, or not what its name says; the message says what to do.
    """
    return _read(content, name, largest=LARGEST_UPLOAD)


def read_file(path: Path) -> Table:
    """The rows of a file of at most 200 MiB.

    Raises:
        InvalidInput: not readable, too large, empty, or not what its name says.
    """
    try:
        num_bytes = path.stat().st_size
        content = b"" if num_bytes > LARGEST_FILE else path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}. Give the path of a file."
        raise InvalidInput(message) from error
    _check_size(num_bytes, path.name, LARGEST_FILE)
    return _read(content, path.name, largest=LARGEST_FILE)


def _read(content: bytes, name: str, *, largest: int) -> Table:
    _check_size(len(content), name, largest)
    ending = Path(name).suffix.lower()
    if ending not in _READERS:
        message = f"Got {name}; the name has to end in one of {', '.join(ENDINGS)}."
        raise InvalidInput(message)
    foreign = next((what for mark, what in _FOREIGN if content.startswith(mark)), None)
    if not foreign and content.startswith(_PARQUET) != (ending == ".parquet"):
        foreign = "no Parquet file" if ending == ".parquet" else "a Parquet file"
    if foreign:
        message = f"{name} is {foreign}, whatever its name says. Save the table as CSV, JSONL or Parquet."
        raise InvalidInput(message)
    return _READERS[ending](content, name)


def _check_size(num_bytes: int, name: str, largest: int) -> None:
    if not num_bytes:
        message = f"{name} is empty. Give a file with a header and at least one row below it."
        raise InvalidInput(message)
    if num_bytes > largest:
        message = f"{name} has {size(num_bytes)}; at most {size(largest)} are read. Split the file."
        raise InvalidInput(message)
