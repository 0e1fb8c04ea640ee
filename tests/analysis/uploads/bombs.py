"""Small files that unpack to far more than their size."""

import io
import json
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

MIB = 2**20


def parquet_of(texts, rows, **options):
    """A table whose rows all have one text of so many characters."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * texts])
    return written(pa.table({"prompt": column}), **options)


def written(table, **options):
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", **options)
    return content.getvalue().to_pybytes()


def lists(count):
    """So many empty lists within a list, in three bytes each."""
    return b"[" + b"[]," * (count - 1) + b"[]]"


def deep(depth):
    return b"[" * depth + b"]" * depth


def xlsx_of(rows):
    """A workbook of one sheet."""
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def xlsx_of_zeros(size):
    """A workbook that has a file of so many bytes, all zero."""
    content = io.BytesIO(xlsx_of([["prompt"], ["Q"]]))
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/more.xml", "w") as more:
        for _ in range(size // MIB):
            more.write(bytes(MIB))
    return content.getvalue()


def zipped(files, method=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    content.seek(0)
    return content


def manifest(extra):
    """The text of a manifest with a field that none has."""
    return json.dumps({"schema": 2}).encode()[:-1] + b', "more": ' + extra + b"}"


class Nameless(zipfile.ZipInfo):
    """An entry without a name, which the module does not write otherwise."""

    def __init__(self):
        super().__init__("x")
        self.filename = ""

    def is_dir(self):
        return False
