"""Files that a user uploads: from the bytes to examples, and from these to a run that is asked for."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import DataSet
from analysis.datasets.own_files import Columns, correct_and_incorrect, examples_from, guess_columns, read_table
from analysis.datasets.table import Table
from analysis.runs.create import check_examples, prepare, read_examples, request_for
from rauq.errors import RauqError
from tests.robustness.fuzz_engine import Surface
from tests.robustness.fuzz_mutators import hostile_text, spoilt_bytes, spoilt_json, spoilt_text

_ROWS = (
    {
        "id": "a",
        "prompt": "Where is Oslo?",
        "references": ["In Norway.", "Norway"],
        "answer": " In Norway",
        "quality": 1,
    },
    {"id": "b", "prompt": 'Is it "warm", there?', "references": [], "answer": " No;\nnever", "quality": 0.5},
    {
        "id": "c",
        "prompt": "Déjà vu 漢",
        "references": ["x"],
        "answer": " y",
        "quality": None,
        "correct": "yes",
        "group": 1,
    },
)
_ENCODINGS = (
    *(("utf-8", "surrogatepass"), ("utf-8", "replace"), ("utf-8", "replace"), ("utf-8-sig", "replace")),
    *(("utf-16", "surrogatepass"), ("utf-16-be", "replace"), ("utf-32", "replace"), ("cp1252", "replace")),
)


class Upload(NamedTuple):
    """The content of a file, its name, and what decides which columns are taken."""

    content: bytes
    name: str
    columns: int = 0


def csv_uploads(folder: Path) -> Surface:
    """CSV and TSV files: cells, quotes, delimiters, widths and encodings are spoilt."""
    return _uploads("CSV uploads", folder, _spoilt_csv, ".csv")


def json_uploads(folder: Path) -> Surface:
    """JSONL and JSON files: values, nesting, numbers and encodings are spoilt."""
    return _uploads("JSONL and JSON uploads", folder, _spoilt_lines, ".jsonl")


def parquet_uploads(folder: Path) -> Surface:
    """Parquet files: their bytes and the types of their columns are spoilt."""
    return _uploads("Parquet uploads", folder, _spoilt_parquet, ".parquet")


def _uploads(name: str, folder: Path, mutate: Callable[[Any, Random], Upload], ending: str) -> Surface:
    runs = folder / "runs"
    runs.mkdir()
    return Surface(name=name, seeds=[ending], mutate=mutate, target=lambda upload: _taken(upload, runs))


def _taken(upload: Upload, runs: Path) -> None:
    """Read it, take the columns that are meant, and others; what is taken can be written down as a run."""
    table = read_table(upload.content, upload.name)
    data = examples_from(table, guess_columns(table))
    rng = Random(upload.columns)
    for make in (_with_any_columns, _as_two_files):
        try:
            make(table, rng)
        except RauqError:
            continue
    _check_asked(data, runs / "new")


def _check_asked(data: DataSet, folder: Path) -> None:
    """A run is asked for whole, or not at all; its examples come back as they were."""
    try:
        manifest = prepare(folder, data, request_for(data, model="atlas"))
        check_examples(folder, manifest, data.examples)
        assert repr(read_examples(folder)) == repr(data.examples)
    finally:
        left = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        rmtree(folder, ignore_errors=True)
    assert left == ["examples.parquet", "manifest.json", "run.lock"], left


def _with_any_columns(table: Table, rng: Random) -> DataSet:
    names = {field.name: rng.choice((None, *table.columns)) for field in fields(Columns)}
    some = tuple(rng.choices(table.columns, k=rng.randint(0, 3)))
    return examples_from(table, Columns(**names | {"prompt": rng.choice(table.columns), "references": some}))


def _as_two_files(table: Table, rng: Random) -> DataSet:
    columns = Columns(prompt=rng.choice(table.columns), answer=rng.choice(table.columns))
    return correct_and_incorrect(table, table, columns)


def _spoilt_csv(ending: str, rng: Random) -> Upload:
    rows = [list(_ROWS[2]), *([_cell(row.get(name)) for name in _ROWS[2]] for row in _ROWS)]
    for _ in range(rng.randint(0, 3)):
        _spoil_row(rng.choice(rows), rng)
    quoting = {"delimiter": rng.choice(",;\t"), "lineterminator": rng.choice(("\n", "\r\n", "\r"))}
    text = io.StringIO(newline="")
    csv.writer(text, quoting=rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)), **quoting).writerows(rows)
    return _upload(text.getvalue(), rng.choice((ending, ".tsv")), rng)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return json.dumps(value)
    return "" if value is None else str(value)


def _spoil_row(row: list[str], rng: Random) -> None:
    place = rng.randrange(len(row)) if row else 0
    match rng.randrange(4):
        case 0:
            row[place:] = row[place + 1 :]
        case 1:
            row.insert(place, hostile_text(rng))
        case _:
            row[place : place + 1] = [spoilt_text("".join(row[place : place + 1]), rng)]


def _spoilt_lines(ending: str, rng: Random) -> Upload:
    rows: list[Any] = [spoilt_json(row, rng) if rng.random() < 0.5 else row for row in _ROWS]
    plain = rng.random() < 0.5
    if rng.random() < 0.4:
        return _upload(json.dumps(spoilt_json(rows, rng), ensure_ascii=plain), ".json", rng)
    return _upload("\n".join(json.dumps(row, ensure_ascii=plain) for row in rows), rng.choice((ending, ".ndjson")), rng)


def _upload(text: str, ending: str, rng: Random) -> Upload:
    content = text.encode(*rng.choice(_ENCODINGS))
    return Upload(spoilt_bytes(content, rng) if rng.random() < 0.5 else content, f"mine{ending}", rng.randrange(2**32))


def _spoilt_parquet(ending: str, rng: Random) -> Upload:
    columns = {name: [row.get(name) for row in _ROWS] for name in _ROWS[2]}
    table = pa.table({name: _column(values, rng) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    compression = rng.choice(("none", "snappy", "zstd", "gzip"))
    pq.write_table(table, sink, compression=compression, use_dictionary=rng.random() < 0.5)
    content = sink.getvalue().to_pybytes()
    return Upload(spoilt_bytes(content, rng) if rng.random() < 0.8 else content, f"mine{ending}", rng.randrange(2**32))


def _column(values: list[Any], rng: Random) -> pa.Array:
    """A column as it is, or of another type."""
    if rng.random() < 0.8:
        return pa.array([_cell(value) for value in values])
    other = (
        pa.array(
            [0, 2**53, -(2**53)], rng.choice((pa.timestamp("s"), pa.timestamp("ns"), pa.duration("s"), pa.int64()))
        ),
        pa.array([b"\xff\0", b"", None], pa.binary()),
        pa.array([[1], [], None], pa.list_(pa.int8())),
        pa.array([{"a": 1}, None, {}], pa.struct([("a", pa.int8())])),
        pa.array([float("nan"), float("inf"), -0.0]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2**31 - 1, -1], pa.date32()),
        pa.nulls(3),
    )
    return rng.choice(other)
