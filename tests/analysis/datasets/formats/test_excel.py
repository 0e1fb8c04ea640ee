"""A workbook gives what its reader sees, and a damaged or a malicious one an error."""

import io
import sys
import zipfile
from contextlib import suppress
from datetime import datetime, time, timedelta
from random import Random

import openpyxl
import pytest

from analysis.datasets.formats import excel
from analysis.datasets.formats.excel import read_xlsx
from analysis.datasets.table import Unusable
from rauq.errors import InvalidInput, MissingPackage

NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
DAY = datetime(2024, 1, 5)  # noqa: DTZ001 - Excel knows no time zones


def book_of(*sheets):
    """A workbook of sheets, each a list of rows of values or of pairs of a value and its number format."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for place, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {place}")
        for number, row in enumerate(rows, 1):
            for column, cell in enumerate(row, 1):
                value, code = cell if isinstance(cell, tuple) else (cell, "General")
                sheet.cell(number, column, value).number_format = code
    return book


def content_of(book):
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read(*sheets):
    return read_xlsx(content_of(book_of(*sheets)), "a.xlsx")


def with_part(part, text):
    """A workbook of which one part is replaced."""
    book = book_of([["prompt"], ["Q"]])
    with zipfile.ZipFile(io.BytesIO(content_of(book))) as old, zipfile.ZipFile(made := io.BytesIO(), "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, text if name == part else old.read(name))
    return made.getvalue()


def sheet_of(rows):
    return with_part("xl/worksheets/sheet1.xml", f"<worksheet {NAMESPACE}><sheetData>{rows}</sheetData></worksheet>")


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        *((7, "000", "007"), (0.25, "0%", "25%"), (0.3, "0.00", "0.30"), (10**6, "#,##0", "1,000,000")),
        *((12.5, '"$"#,##0.00', "$12.50"), (-5, "#,##0;(#,##0)", "(5)"), (1234.5, "#,##0.00 [$€-407]", "1,234.50 €")),
        *((75, "0\\%", "75%"), (7, '0"th"', "7th"), (1.5, "0.##", "1.5"), (-0.25, "0.0%", "-25.0%")),
        *((0.256, "0.00", 0.256), (0.5, "# ?/?", 0.5), (5e6, '0.0,,"M"', 5_000_000), (12345, "0.00E+00", 12345)),
        *((0.1 + 0.2, "General", 0.3), (3.0, "General", 3), (True, "General", True), ("007", "@", "007")),
        *((DAY, "yyyy-mm-dd", "2024-01-05"), (DAY, "dd/mm/yyyy", "05/01/2024"), (DAY, "d-mmm-yy", "5-Jan-24")),
        *((DAY, "mmm-yy", "Jan-24"), (DAY, "yyyy", "2024"), (DAY, "[$-409]dddd, mmmm d", "Friday, January 5")),
        *((DAY, "mm-dd-yy", "2024-01-05"), (DAY, "[$-407]d. mmmm yyyy", "2024-01-05")),  # depend on the computer
        *((DAY, "[$-F800]dddd, mmmm dd, yyyy", "2024-01-05"), (DAY, 'yyyy"年"m"月"d"日"', "2024年1月5日")),
        *((DAY.replace(hour=14, minute=5), "yyyy-mm-dd h:mm:ss", "2024-01-05 14:05:00"), (time(9, 5), "h:mm", "9:05")),
        *((time(21, 5), "h:mm AM/PM", "9:05 PM"), (time(0, 3, 20), "mm:ss", "03:20")),
        *((timedelta(hours=26, minutes=30), "[h]:mm:ss", "26:30:00"), (timedelta(seconds=9), "[h]:mm", "0:00")),
        (DAY.replace(hour=9), "m/d/yy h:mm", "2024-01-05 09:00:00"),
    ],
)  # fmt: skip
def test_a_number_or_a_date_is_as_excel_shows_it_and_never_rounded(value, code, shown):
    cell = read([["prompt"], [(value, code)]]).rows["prompt"][1]
    assert (cell, type(cell)) == (shown, type(shown))


def test_the_first_sheet_with_rows_is_read_and_rows_have_their_distance_from_the_header():
    table = read([], [[], ["prompt", "r", None], ["Q", "A"], [], ["R"], ["S", "B", "x"]], [["other"]])
    assert table.rows.to_dict("index") == {1: {"prompt": "Q", "r": "A"}, 3: {"prompt": "R", "r": None}}
    assert [(row.row, row.reason.partition(".")[0]) for row in table.rejected] == [
        (4, "it has 3 cells, but the header has 2")
    ]
    assert table.notes == ("The sheet 'sheet 1' was read, not 'sheet 0', 'sheet 2'.",)
    hidden = book_of([["hidden"], ["x"]], [["prompt"], ["Q"]])
    hidden.worksheets[0].sheet_state, hidden.active = "hidden", 1
    assert read_xlsx(content_of(hidden), "a.xlsx").columns == ("prompt",)


def test_what_a_program_says_about_the_size_of_a_sheet_is_not_believed():
    rows = '<row><c t="str"><v>prompt</v></c><c t="str"><v>r</v></c></row><row><c><v>1</v></c><c><v>2</v></c></row>'
    text = f"<worksheet {NAMESPACE}><dimension ref='A1:A1'/><sheetData>{rows}</sheetData></worksheet>"
    table = read_xlsx(with_part("xl/worksheets/sheet1.xml", text), "a.xlsx")
    assert table.rows.to_dict("records") == [{"prompt": 1, "r": 2}]


def test_errors_and_formulas_that_were_not_calculated_cost_the_rows_that_need_them():
    book = book_of([["prompt", "e"], ["Q", "#N/A"], ["=1+1", "x"]])
    book.worksheets[0]["B2"].data_type = "e"
    rows = read_xlsx(content_of(book), "a.xlsx").rows
    assert rows["e"][1] == Unusable("holds the error #N/A; a text or a number is needed.")
    assert rows["prompt"][2].why.startswith("holds a formula that was not calculated. Open and save the file in Excel")
    calculated = sheet_of('<row><c t="str"><v>prompt</v></c></row><row><c><f>1+1</f><v>2</v></c></row>')
    stale = content_of(openpyxl.load_workbook(io.BytesIO(calculated)))  # which forgets the value
    workbook = f"<workbook {NAMESPACE} xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>"
    workbook += "<sheets><sheet name='a' sheetId='1' r:id='rId1'/></sheets>{}</workbook>"
    assert isinstance(read_xlsx(stale, "a.xlsx").rows["prompt"][1], Unusable)
    for calculation, cell in (("", 2), ("<calcPr fullCalcOnLoad='1'/>", rows["prompt"][2])):
        made = io.BytesIO(calculated)
        with zipfile.ZipFile(made) as old, zipfile.ZipFile(new := io.BytesIO(), "w") as written:
            for name in old.namelist():
                is_book = name == "xl/workbook.xml"
                written.writestr(name, workbook.format(calculation) if is_book else old.read(name))
        assert read_xlsx(new.getvalue(), "a.xlsx").rows["prompt"][1] == cell


BOMBS = {
    "bytes": (sheet_of(" " * 10_000), {"LARGEST_UNPACKED": 9_000}, "unpacks to more than"),
    "tags": (sheet_of("<row/>" * 5_000), {"MOST_TAGS": 4_000}, "more than 4,000 tags"),
    "tags of styles": (
        with_part("xl/styles.xml", f"<styleSheet {NAMESPACE}>{'<xf/>' * 5_000}</styleSheet>"),
        {"MOST_OTHER_TAGS": 4_000},
        "more than 4,000 tags",
    ),
    "cells": (sheet_of('<row><c r="XFD1"><v>1</v></c></row>' * 9), {"MOST_CELLS": 100_000}, "more than 100,000 cells"),
    "rows": (sheet_of('<row r="999999999999"><c><v>1</v></c></row>'), {}, "has no rows"),
}


@pytest.mark.parametrize(("content", "bounds", "said"), BOMBS.values(), ids=BOMBS)
def test_what_a_small_workbook_unpacks_to_is_bounded(content, bounds, said, monkeypatch):
    for name, most in bounds.items():
        monkeypatch.setattr(excel, name, most)
    with pytest.raises(InvalidInput, match=said):
        read_xlsx(content, "a.xlsx")


def test_damage_is_an_error_in_words():
    typed = with_part("xl/worksheets/sheet1.xml", f"<!DOCTYPE worksheet><worksheet {NAMESPACE}/>")
    good, rng = content_of(book_of([["prompt", "r"], ["Q", (1.5, "0.00")]])), Random(0)
    for content in (typed, b"PK\x03\x04rest", good[:-50]):
        with pytest.raises(InvalidInput, match=r"not a readable Excel file .* Save it again as \.xlsx, or as CSV"):
            read_xlsx(content, "a.xlsx")
    for _ in range(60):
        with suppress(InvalidInput):
            read_xlsx(bytes(byte if rng.random() > 0.002 else rng.randrange(256) for byte in good), "a.xlsx")


def test_without_openpyxl_the_error_says_what_to_install_or_to_save(monkeypatch):
    content = content_of(book_of([["prompt"], ["Q"]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingPackage, match="`pip install openpyxl`, or save the sheet as CSV"):
        read_xlsx(content, "a.xlsx")
