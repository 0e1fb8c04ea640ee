"""Runs that come as folders or as archives: opened, listed, scored and looked through, or refused."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from analysis.datasets.example import DataSet, Example
from analysis.runs import library
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.create import prepare, request_for
from analysis.runs.opened import Run, batch, means, open_run
from analysis.runs.timings import costs
from analysis.runs.traces import fact_masks, traces_in
from analysis.runs.work import work
from pages.ui.runs import words
from rauq.scoring.score import score_many
from tests.robustness.fuzz_engine import Surface
from tests.robustness.fuzz_mutators import hostile_text, spoilt_bytes, spoilt_json, spoilt_json_bytes
from tests.shards import without_checksums

Files = dict[str, bytes]

_NAME = "run"
_VALUES = (None, -1, 0, 2**31 - 1, float("nan"), float("inf"), "", "x", [], [None], [[1]], True, {})


def run_folders(folder: Path) -> Surface:
    """Folders of runs: one file or two are spoilt, missing, or what another file is."""
    root = folder / "runs"
    return Surface(
        name="run folders", seeds=_real_runs(folder), mutate=_spoilt, target=lambda files: _opened(files, root)
    )


def run_archives(folder: Path) -> Surface:
    """Archives of runs: their bytes, their entries, or the files in them are spoilt."""
    root = folder / "imported"
    return Surface(
        name="run archives", seeds=_real_runs(folder), mutate=_packed, target=lambda content: _imported(content, root)
    )


def _real_runs(folder: Path) -> list[Files]:
    """A run, and the same without the checksums that older ones do not have."""
    files = _real_run(folder)
    older = {name: save(load(content)) for name, content in files.items() if name.endswith(".safetensors")}
    return [files, files | older, files | older]


def _real_run(folder: Path) -> Files:
    """The files of a small run of the embedded model, two answers a shard."""
    examples = (
        Example(
            id="a", prompt="Question: Where is Oslo?\nAnswer:", references=("Norway",), facts=("Norway",), group="x"
        ),
        Example(id="b", prompt="Where is Lima?", answer=" In Peru", quality=1.0, facts=("Peru",), group="y"),
        Example(id="c", prompt="German: Hund\nEnglish:", references=("dog",)),
    )
    data = DataSet(name="three", examples=examples, quality="token_f1", max_new_tokens=4)
    made = folder / "made"
    prepare(made, data, request_for(data, model="atlas", batch_size=2, shard_size=2))
    work(made)
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    bare = {name: without_checksums(content) for name, content in files.items() if name.endswith(".safetensors")}
    return files | bare  # else a changed number would be seen by its checksum, and never be looked at


def _opened(files: Files, root: Path) -> None:
    """Looked at as the pages do: nothing of it changes for it."""
    folder = root / _NAME
    folder.mkdir(parents=True)
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        _check_listed(folder)
        _look_into(open_run(folder))
        export_zip(folder).close()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    finally:
        rmtree(root)


def _check_listed(folder: Path) -> None:
    """A run that cannot be used is listed with its fault, any other with how far it is."""
    listed = library._listed(folder.name, folder)  # the bundled one stands in every list, and would take the time
    assert (listed.status is None) == bool(listed.fault)
    said = [words.facts(listed), words.what_is_wrong(listed)]
    if listed.status and listed.manifest:
        assert listed.status.done >= 0
        said += [words.progress_in_words(listed.status), words.asked(listed.manifest)]
    "".join(said).encode()


@np.errstate(all="ignore")  # numbers that no model puts out: an import looks at each, an open run at none
def _look_into(run: Run) -> None:
    costs(run)
    fact_masks(run)
    means(run, tokens="other", offset=2)
    for shard in run.shards:
        list(traces_in(run, shard))
    scores = score_many(batch(run))
    assert (np.isnan(scores.uncertainty) == (scores.reasons != "")).all()


def _imported(content: bytes, root: Path) -> None:
    """All of it comes in, or nothing; what came in can be used."""
    try:
        folder = _import(content, root)
        _check_listed(folder)
        _look_into(open_run(folder))
    finally:
        rmtree(root, ignore_errors=True)


def _import(content: bytes, root: Path) -> Path:
    try:
        return import_zip(io.BytesIO(content), root, _NAME)
    finally:
        left = [path.name for path in root.iterdir()] if root.exists() else []
        assert left in ([], [_NAME]), left


def _spoilt(files: Files, rng: Random) -> Files:
    spoilt = dict(files)
    for name in rng.sample(sorted(files), rng.choice((1, 1, 1, 2))):
        match rng.randrange(12):
            case 0:
                del spoilt[name]
            case 1:
                spoilt[name] = files[rng.choice(sorted(files))]
            case _:
                spoilt[name] = _spoilt_file(name, files[name], rng)
    return spoilt


def _spoilt_file(name: str, content: bytes, rng: Random) -> bytes:
    kind = Path(name).suffix
    if not content or rng.random() < 0.3:
        return spoilt_bytes(content, rng)
    if kind == ".json":
        return spoilt_json_bytes(content, rng)
    if kind == ".jsonl":
        return b"\n".join(spoilt_json_bytes(line, rng) for line in content.splitlines())
    if kind == ".parquet":
        return _spoilt_table(content, rng)
    return _spoilt_arrays(content, rng) if kind == ".safetensors" else spoilt_bytes(content, rng)


def _spoilt_table(content: bytes, rng: Random) -> bytes:
    """A cell, a column's type, or rows that no run has."""
    table = pq.read_table(pa.BufferReader(content))
    column = rng.choice(table.schema.names)
    match rng.randrange(5):
        case 0:
            table = table.drop_columns([column])
        case 1:
            table = table.slice(0, rng.randrange(table.num_rows))
        case 2:
            table = pa.concat_tables([table, table])
        case _:
            table = _with_other_cell(table, column, rng)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def _with_other_cell(table: pa.Table, column: str, rng: Random) -> pa.Table:
    """As far as the column's type has such a value, or the whole column is of another type."""
    cells = table[column].to_pylist()
    place = rng.randrange(len(cells))
    other: Any = rng.choice(_VALUES) if rng.random() < 0.5 else spoilt_json(_plain(cells[place]), rng)
    cells[place] = other
    kind = table.schema.field(column).type
    try:
        array = pa.array(cells, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array([hostile_text(rng).encode("utf-8", "replace").decode()] * len(cells))
    return table.set_column(table.schema.get_field_index(column), column, array)


def _plain(cell: Any) -> Any:
    return json.loads(json.dumps(cell, default=repr))


def _spoilt_arrays(content: bytes, rng: Random) -> bytes:
    arrays = load(content)
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    match rng.randrange(5):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array.astype(rng.choice((np.float16, np.float32, np.int64)))
        case 2:
            arrays[name] = np.ascontiguousarray(array[:-1])
        case 3:
            arrays[name] = array.reshape(-1)
        case _:
            array.flat[rng.randrange(array.size) if array.size else slice(0)] = rng.choice((-1, 0, 2, 30_000))
            if array.dtype.kind == "f" and array.size:
                array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf))
    return save(arrays)


def _packed(files: Files, rng: Random) -> bytes:
    """What is no file of a run does not go along, as in an export; or it does, and has to be refused."""
    going = {name: content for name, content in files.items() if rng.random() < 0.02 or not _stays(name)}
    match rng.randrange(3):
        case 0:
            return spoilt_bytes(_zipped(going, rng), rng)
        case 1:
            return _zipped(going, rng, strange=True)
        case _:
            return _zipped(_spoilt(going, rng), rng)


def _stays(name: str) -> bool:
    return name in {"status.json", "run.lock", "log.txt"}


def _zipped(files: Mapping[str, bytes], rng: Random, *, strange: bool = False) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as target:
        for name, data in files.items():
            entry = ZipInfo(_strange_name(name, rng) if strange and rng.random() < 0.3 else name)
            entry.compress_type = rng.choice((ZIP_STORED, ZIP_DEFLATED))
            entry.external_attr = rng.choice((0, 0, 0, 0o644 << 16, 0o120777 << 16, 0o40755 << 16)) if strange else 0
            target.writestr(entry, data)
    return content.getvalue()


def _strange_name(name: str, rng: Random) -> str:
    text = rng.choice((f"../{name}", f"/{name}", f"a/{name}", f"{name}/", name.upper(), f" {name}", hostile_text(rng)))
    return text.encode("utf-8", "replace").decode()
