"""Excel workbooks (.xlsx): the first sheet that is not empty, read as a table."""

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from typing import Any

from analysis.datasets.example import Rejected
from analysis.datasets.formats.excel_cells import shown
from analysis.datasets.table import MOST_ROWS, Table, Unusable, cut_note, left_in, make_table
from rauq.errors import InvalidInput, MissingPackage
from rauq.labels import size

LARGEST_UNPACKED = 256 * 2**20  # bytes
MOST_PARTS = 10_000  # files in the workbook
MOST_TAGS = 10_000_000  # of its XML, which is parsed into objects of 100 bytes and more
MOST_OTHER_TAGS = 500_000  # of styles and the like, which take 15 µs each
MOST_CELLS = 5_000_000  # empty ones before the last of a row included
_LAST_ROW = 2**20  # of a sheet

_BLOCK = 2**20
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_TYPES = b"<!DOCTYPE"  # declares entities, which unpack to more; no workbook has it
_DAMAGE = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, EOFError, RuntimeError),
    *(SyntaxError, zipfile.BadZipFile, zlib.error),  # the first: XML that is not well formed
)


def read_xlsx(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows below the header, which is the first row that is not empty; cells as Excel shows them.

    A row's number is its distance from the header. A cell with an error, or with a formula that was not calculated, is
    `Unusable`.

    Raises:
        InvalidInput: no workbook, damaged, no row, or more than 256 MiB, 10,000,000 tags or 5,000,000 cells.
        MissingPackage: openpyxl is not installed.
    """
    try:
        has_formulas = _check_unpacked(content)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # about parts that are not read
            return _read(content, name, rows, has_formulas=has_formulas)
    except _TooLarge as error:
        message = f"{name} cannot be read: {error}. Split it, leave out columns, or save it as CSV."
        raise InvalidInput(message) from error
    except InvalidInput:
        raise
    except _DAMAGE as error:
        message = f"{name} is not a readable Excel file ({type(error).__name__}). Save it again as .xlsx, or as CSV."
        raise InvalidInput(message) from error


class _TooLarge(ValueError):
    """A workbook that unpacks to more than it may, or has more cells."""


def _check_unpacked(content: bytes) -> bool:
    """Count bytes and tags of a workbook before it is parsed; return whether it may have formulas."""
    has_formulas = False
    tags = {True: 0, False: 0}  # in parts with cells, and in others
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > LARGEST_UNPACKED:
            message = f"it unpacks to more than {size(LARGEST_UNPACKED)}, or {MOST_PARTS:,} files"
            raise _TooLarge(message)
        for part in parts:
            has_cells = part.filename.startswith(("xl/worksheets/", "xl/sharedStrings"))
            for block in _blocks(archive, part):
                tags[has_cells] += block.count(b"<")
                has_formulas = has_formulas or _FORMULA.search(block) is not None
                _check_block(block, tags[has_cells], MOST_TAGS if has_cells else MOST_OTHER_TAGS)
    return has_formulas


def _check_block(block: bytes, tags: int, most: int) -> None:
    if tags > most:
        message = f"it has more than {most:,} tags"
        raise _TooLarge(message)
    if _TYPES in block:
        message = "it declares entities, which no workbook does"
        raise ValueError(message)


def _blocks(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part unpacked block by block, each with the end of the one before, in which a tag may begin."""
    before = b""
    with archive.open(part) as unpacked:
        for block in iter(partial(unpacked.read, _BLOCK), b""):
            yield before + block
            before = block[-16:]


def _read(content: bytes, name: str, rows: int, *, has_formulas: bool) -> Table:
    book = _open(content, data_only=True)
    formulas = _open(content, data_only=False) if has_formulas else None
    sheets = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
    for sheet in sheets:
        records = _records(sheet, formulas[sheet.title] if formulas else None, is_stale=_is_stale(book))
        if first := next(records, None):
            others = [one.title for one in sheets if one is not sheet]
            said = (f"The sheet {sheet.title!r} was read, not {', '.join(map(repr, others))}.",) if others else ()
            return _table(name, first, records, rows=rows, notes=said)
    message = f"{name} has no rows. Give a sheet with a header and at least one row below it."
    raise InvalidInput(message)


def _open(content: bytes, *, data_only: bool) -> Any:  # noqa: ANN401 - openpyxl has no types
    try:
        import openpyxl
    except ImportError as error:
        message = (
            "Reading .xlsx needs openpyxl, which is not installed. Install it with `pip install openpyxl`, "
            "or save the sheet as CSV."
        )
        raise MissingPackage(message) from error
    return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)


def _is_stale(book: Any) -> bool:  # noqa: ANN401
    """Whether values of formulas are placeholders: Excel is told to calculate them when it opens the file."""
    return bool(book.calculation and book.calculation.fullCalcOnLoad)


Record = tuple[int, list[Any]]  # the number of a row that is not empty, and its cells


def _records(sheet: Any, formulas: Any, *, is_stale: bool) -> Iterator[Record]:  # noqa: ANN401
    count = 0
    for number, (row, twin) in enumerate(zip(_rows(sheet), _rows(formulas) if formulas else repeat(()), strict=False)):
        if (count := count + len(row)) > MOST_CELLS:
            message = f"it has more than {MOST_CELLS:,} cells"
            raise _TooLarge(message)
        asked = {place for place, cell in enumerate(twin) if cell.data_type == "f"}
        cells = [_cell(cell, is_formula=place in asked, is_stale=is_stale) for place, cell in enumerate(row)]
        while cells and cells[-1] is None:
            cells.pop()
        if cells:
            yield number, cells


def _rows(sheet: Any) -> Iterator[Sequence[Any]]:  # noqa: ANN401
    sheet.reset_dimensions()  # what programs say about the size is often wrong
    return islice(sheet.iter_rows(), _LAST_ROW)


def _cell(cell: Any, *, is_formula: bool, is_stale: bool) -> Any:  # noqa: ANN401
    if is_formula and (is_stale or (cell.value is None and cell.data_type == "n")):
        return Unusable(
            "holds a formula that was not calculated. Open and save the file in Excel or LibreOffice first."
        )
    if cell.data_type == "e":
        return Unusable(f"holds the error {cell.value}; a text or a number is needed.")
    if isinstance(cell.value, str):
        return cell.value.replace("_x000D_", "\r")
    return None if cell.value is None else shown(cell.value, cell.number_format)


def _table(name: str, first: Record, records: Iterator[Record], *, rows: int, notes: tuple[str, ...]) -> Table:
    begin, header = first
    read: dict[int, list[Any]] = {}
    rejected = []
    for number, cells in ((number - begin, cells) for number, cells in islice(records, rows)):
        if len(cells) > len(header):
            rejected.append(Rejected(number, _WIDE.format(len(cells), len(header))))
        else:
            read[number] = cells + [None] * (len(header) - len(cells))
    left_out = cut_note(left_in(records), rows=rows)
    return make_table(name, header, read, rejected=rejected, notes=(*notes, *left_out))


_WIDE = "it has {} cells, but the header has {}. Name every column in the first row that is not empty."
