"""Files of the user as tables: CSV, JSONL, JSON, Excel or Parquet."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from analysis.datasets.formats.delimited import read_csv
from analysis.datasets.formats.excel import read_xlsx
from analysis.datasets.formats.json_text import read_json
from analysis.datasets.formats.parquet import read_parquet
from analysis.datasets.table import MOST_ROWS, Table
from rauq.errors import InvalidInput
from rauq.labels import size

LARGEST_UPLOAD = 64 * 2**20  # bytes
LARGEST_FILE = 16 * 2**30
MOST_IN_A_FILE = 10_000_000  # rows of a file that a command names; all of them are in memory

_SAVE = "Save the table as CSV, JSONL or Parquet."
_KINDS = (  # what a file begins with, the ending of that kind, what it is, and what to do
    (b"PAR1", ".parquet", "a Parquet file", "Name it .parquet."),
    (b"PK\x03\x04", ".xlsx", "an Excel file or another zip archive", "Name it .xlsx if Excel opens it, or unpack it."),
    (b"\xd0\xcf\x11\xe0", "", "an old Excel file or one with a password", "Save it as .xlsx, without a password."),
    (b"\x1f\x8b", "", "compressed with gzip", "Unpack it."),
    (b"%PDF", "", "a PDF", _SAVE),
)
_BINARY = MappingProxyType({".parquet": "a Parquet file", ".xlsx": "an Excel file"})
_SHEETS = (".xls", ".xlsb", ".xlsm", ".xltx", ".ods", ".numbers")
_READERS: MappingProxyType[str, Callable[..., Table]] = MappingProxyType(
    {
        ".csv": read_csv,
        ".tsv": read_csv,
        ".jsonl": read_json,
        ".ndjson": read_json,
        ".json": read_json,
        ".xlsx": read_xlsx,
        ".parquet": read_parquet,
    }
)
ENDINGS = tuple(_READERS)


def read_table(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows of an upload of at most 64 MiB; `name` is the file's name.

    Raises:
        InvalidInput: too large, empty, or not what its name says; the message says what to do.
    """
    return _read(content, name, largest=LARGEST_UPLOAD, rows=rows)


def read_file(path: Path) -> Table:
    """The first ten million rows of a file of at most 16 GiB.

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
    return _read(content, path.name, largest=LARGEST_FILE, rows=MOST_IN_A_FILE)


def _read(content: bytes, name: str, *, largest: int, rows: int) -> Table:
    _check_size(len(content), name, largest)
    ending = Path(name).suffix.lower()
    if ending not in _READERS:
        instead = " Save the sheet as .xlsx or as CSV." if ending in _SHEETS else ""
        message = f"Got {name}; the name must end in one of {', '.join(ENDINGS)}.{instead}"
        raise InvalidInput(message)
    _check_kind(content, name, ending)
    return _READERS[ending](content, name, rows=rows)


def _check_kind(content: bytes, name: str, ending: str) -> None:
    """A file of one kind is not read as another: its first bytes and its name have to agree."""
    found = next((kind for kind in _KINDS if content.startswith(kind[0])), None)
    if found and found[1] != ending:
        message = f"{name} is {found[2]}, despite its name. {found[3]}"
        raise InvalidInput(message)
    if not found and ending in _BINARY:
        message = f"{name} is not {_BINARY[ending]}, despite its name. {_SAVE}"
        raise InvalidInput(message)


def _check_size(num_bytes: int, name: str, largest: int) -> None:
    if not num_bytes:
        message = f"{name} is empty. Give a file with a header and at least one row below it."
        raise InvalidInput(message)
    if num_bytes > largest:
        message = f"{name} has {size(num_bytes)}; at most {size(largest)} are read. Split the file."
        raise InvalidInput(message)
