"""Files that a user opens or uploads: traces, up to every export of a page, detectors, and tables, up to a run."""

import csv
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.columns import FIELDS, SEPARATORS, SEVERAL, Columns
from analysis.datasets.example import DataSet
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import correct_and_incorrect, examples_from
from analysis.datasets.table import Table
from analysis.datasets.understood import understand
from analysis.runs.create import prepare, request_for
from analysis.runs.files.examples import check_examples, read_examples
from rauq.detectors.added_heads import AddedHeads, Scale
from rauq.detectors.added_heads import read as read_detector
from rauq.errors import RauqError
from rauq.recorded import answers as recorded
from rauq.scoring.settings import Settings, resolve
from rauq.trace.trace import Trace
from tests.robustness.malformed import (
    Surface,
    hostile_text,
    mutated_bytes,
    mutated_json,
    mutated_json_bytes,
    mutated_parquet,
    mutated_safetensors,
    mutated_text,
)
from tests.robustness.surfaces.texts import check_answer
from tests.traces import make_trace

Rows = tuple[dict[str, Any], ...]

_REFERENCES = ["In Norway.", "Norway"]
_ROWS: Rows = (
    {"id": "a", "prompt": "Where is Oslo?", "references": _REFERENCES, "answer": " In Norway", "quality": 1},
    {"id": "b", "prompt": 'Is it "warm", there?', "references": [], "answer": " No;\nnever", "quality": 0.5},
    {"id": "c", "prompt": "Déjà vu 漢", "references": ["x"], "answer": " y", "quality": None}
    | {"correct": "yes", "group": 1},
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


def trace_files(_folder: Path) -> Surface:
    """Trace files: bytes, the header, the metadata and the arrays of real ones are changed."""
    two_layers = make_trace((b"a", b"b"), num_layers=2).attention
    made = [
        make_trace(wrong=(0, 2), extras={"max_attention": np.eye(3), "diagonal": np.ones((4, 6))}),
        make_trace((b"\xf0\x9f", b"\x99\x82 "), kind="instruct", layers=(3, 7), num_layers=9, attention=two_layers),
        make_trace((b"one",), stop_reason="given"),
    ]
    recorded_files = sorted(recorded.FOLDER.glob("*.safetensors"))[:2]
    seeds = [*(trace.to_bytes() for trace in made), *(path.read_bytes() for path in recorded_files)]
    return Surface(name="trace files", seeds=seeds, mutate=mutated_safetensors, target=_check_trace)


def _check_trace(content: bytes) -> None:
    trace = Trace.from_bytes(content, name="a file")
    again = Trace.from_bytes(trace.to_bytes())
    assert again.to_bytes() == trace.to_bytes()
    for settings in (Settings(layers="all"), Settings(signal="entropy", alignment="own")):
        with suppress(RauqError):  # settings may need what a trace lacks
            check_answer(trace, settings)


def detector_files(_folder: Path) -> Surface:
    """Files of RAUQ + heads: values, nesting, numbers and bytes are changed."""
    trace = make_trace()
    detector = AddedHeads(
        model=trace.model,
        revision=trace.revision,
        kind=trace.kind,
        num_layers=trace.num_layers,
        num_heads=trace.num_heads,
        heads=tuple((layer, 0) for layer in trace.layers),
        settings=resolve(Settings(layers="all"), trace.kind),
        uncertainty=Scale(mean=0.7, std=0.2),
        attention=Scale(mean=0.4, std=0.05),
        reference=(-1.0, 0.0, 2.5),
        groups=(("capitals", 2), ("<b>years</b>", 1)),
        data="facts",
    )
    seeds = [detector.to_json().encode()]
    return Surface(name="detector files", seeds=seeds, mutate=mutated_json_bytes, target=_check_detector)


def _check_detector(content: bytes) -> None:
    detector = read_detector(content, name="a file")
    assert read_detector(detector.to_json()) == detector
    with suppress(RauqError):  # the settings, the model or the heads may be others
        score = detector.score(make_trace())
        assert np.isfinite(score)
        assert 0 <= detector.rank(score) <= 100


def csv_uploads(folder: Path) -> Surface:
    """CSV and TSV files: cells, quotes, delimiters, widths and encodings are changed."""
    return _uploads("CSV uploads", folder, _csv)


def json_uploads(folder: Path) -> Surface:
    """JSONL and JSON files: values, nesting, numbers and encodings are changed."""
    return _uploads("JSONL and JSON uploads", folder, _json)


def parquet_uploads(folder: Path) -> Surface:
    """Parquet files: their bytes, cells and the types of their columns are changed."""
    return _uploads("Parquet uploads", folder, _parquet)


def _uploads(name: str, folder: Path, mutate: Callable[[Any, Random], Upload]) -> Surface:
    runs = folder / "runs"
    runs.mkdir()
    return Surface(name=name, seeds=[_ROWS], mutate=mutate, target=lambda upload: _check_upload(upload, runs))


def _check_upload(upload: Upload, runs: Path) -> None:
    """Read it, with the guessed columns and with others, and write its examples as a new run."""
    table = read_table(upload.content, upload.name)
    data = examples_from(table, understand(table).columns)
    rng = Random(upload.columns)
    for make in (_with_any_columns, _as_two_files):
        with suppress(RauqError):
            make(table, rng)
    _check_new_run(data, runs / "new")


def _check_new_run(data: DataSet, folder: Path) -> None:
    """A run is prepared completely, or not at all; its examples are read as they were written."""
    try:
        manifest = prepare(folder, data, request_for(data, model="atlas"))
        check_examples(folder, manifest, data.examples)
        assert repr(read_examples(folder)) == repr(data.examples)
    finally:
        left = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        rmtree(folder, ignore_errors=True)
    assert left == ["examples.parquet", "manifest.json", "run.lock"], left


def _with_any_columns(table: Table, rng: Random) -> DataSet:
    names: dict[str, Any] = {name: rng.choice((None, *table.columns)) for name in FIELDS}
    names |= {name: tuple(rng.choices(table.columns, k=rng.randint(0, 3))) for name in SEVERAL}
    return examples_from(table, Columns(**names, separator=rng.choice(("", *SEPARATORS))))


def _as_two_files(table: Table, rng: Random) -> DataSet:
    columns = Columns(prompt=rng.choice(table.columns), answer=rng.choice(table.columns))
    return correct_and_incorrect(table, table, columns)


def _csv(rows: Rows, rng: Random) -> Upload:
    cells = [list(rows[2]), *([_cell(row.get(name)) for name in rows[2]] for row in rows)]
    for _ in range(rng.randint(0, 3)):
        _mutate_row(rng.choice(cells), rng)
    quoting = {"delimiter": rng.choice(",;\t"), "lineterminator": rng.choice(("\n", "\r\n", "\r"))}
    text = io.StringIO(newline="")
    csv.writer(text, quoting=rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)), **quoting).writerows(cells)
    return _encoded(text.getvalue(), rng.choice((".csv", ".tsv")), rng)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return json.dumps(value)
    return "" if value is None else str(value)


def _mutate_row(row: list[str], rng: Random) -> None:
    place = rng.randrange(len(row)) if row else 0
    match rng.randrange(4):
        case 0:
            row[place:] = row[place + 1 :]
        case 1:
            row.insert(place, hostile_text(rng))
        case _:
            row[place : place + 1] = [mutated_text("".join(row[place : place + 1]), rng)]


def _json(rows: Rows, rng: Random) -> Upload:
    values = [mutated_json(row, rng) if rng.random() < 0.5 else row for row in rows]
    plain = rng.random() < 0.5
    if rng.random() < 0.4:
        return _encoded(json.dumps(mutated_json(values, rng), ensure_ascii=plain), ".json", rng)
    lines = "\n".join(json.dumps(value, ensure_ascii=plain) for value in values)
    return _encoded(lines, rng.choice((".jsonl", ".ndjson")), rng)


def _encoded(text: str, ending: str, rng: Random) -> Upload:
    content = text.encode(*rng.choice(_ENCODINGS))
    return Upload(mutated_bytes(content, rng) if rng.random() < 0.5 else content, f"mine{ending}", rng.randrange(2**32))


def _parquet(rows: Rows, rng: Random) -> Upload:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: [_cell(row.get(name)) for row in rows] for name in rows[2]}), sink)
    content = mutated_parquet(sink.getvalue().to_pybytes(), rng)
    return Upload(mutated_bytes(content, rng) if rng.random() < 0.4 else content, "mine.parquet", rng.randrange(2**32))
