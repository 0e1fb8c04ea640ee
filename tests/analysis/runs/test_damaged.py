"""Files of a run that somebody else wrote or something spoilt: what `make robustness` found, each by itself."""

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

from analysis.runs.archive import import_zip
from analysis.runs.job import STATUS, Status, read_status, write_status
from analysis.runs.library import list_runs
from analysis.runs.manifest import MANIFEST
from analysis.runs.opened import open_run
from analysis.runs.timings import LONGEST_LINE, TIMINGS, read_timings
from analysis.runs.traces import fact_masks, trace
from rauq.errors import RunError


def test_packed_bytes_that_cannot_be_unpacked_are_refused(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr(MANIFEST, json.dumps({"schema": 1, "text": list(range(1000))}))
    spoilt = bytearray(content.getvalue())
    start = zipfile.sizeFileHeader + len(MANIFEST)
    spoilt[start : start + 40] = b"\xff" * 40
    with pytest.raises(RunError, match=r"not an archive of a run, or it is damaged \(Error -3"):
        import_zip(io.BytesIO(bytes(spoilt)), tmp_path / "runs", "run")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize("text", ["[]", "[1]", '"text"', "3", "null"])
def test_a_manifest_that_is_no_object_is_listed_with_its_fault(text, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / MANIFEST).write_text(text)
    listed = next(run for run in list_runs(tmp_path) if run.name == "run")
    assert "cannot be read" in listed.fault


WRITTEN = {"state": "stopped", "total": 13, "saved": 4, "seconds": 2.0}


def test_a_valid_status_is_used(finished):
    (finished / STATUS).write_text(json.dumps(WRITTEN))
    assert (read_status(finished).state, read_status(finished).saved) == ("stopped", 4)


@pytest.mark.parametrize(
    "change",
    [
        {"total": "13"},
        {"saved": None},
        {"saved": -5},
        {"tokens": True},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"answered": 10**400},
        {"message": 3},
        {"state": ["stopped"]},
        {"more": 1},
    ],
    ids=str,
)
def test_an_invalid_status_is_replaced_by_the_shards(change, finished):
    (finished / STATUS).write_text(json.dumps(WRITTEN | change))
    assert (read_status(finished).state, read_status(finished).saved) == ("finished", 13)


def test_a_status_may_name_what_is_no_unicode(finished):
    write_status(finished, Status(**WRITTEN, message="no file \udcff"))
    assert read_status(finished).message == "no file ?"


@pytest.mark.parametrize("change", [{"examples": 10**400}, {"tokens": 10**400}, {"seconds": 1e300}])
def test_times_that_nothing_took_are_left_out(change, tmp_path):
    whole = {"stage": "generate", "examples": 2, "seconds": 1.0, "tokens": 3, "method": ""}
    (tmp_path / TIMINGS).write_text("\n".join(json.dumps(row) for row in (whole, whole | change)))
    assert len(read_timings(tmp_path)) == 1


def test_a_line_of_times_that_no_run_writes_is_left_out(tmp_path, monkeypatch):
    line = json.dumps({"stage": "generate", "examples": 2, "seconds": 1.0}).encode() + b"\n"
    long = line.replace(b"1.0", b"1." + b"0" * LONGEST_LINE)
    (tmp_path / TIMINGS).write_bytes(long + line)
    assert len(read_timings(tmp_path)) == 1
    (tmp_path / TIMINGS).write_bytes(3 * line)
    monkeypatch.setattr("analysis.runs.timings.LARGEST_TIMINGS", 2 * len(line))
    assert len(read_timings(tmp_path)) == 2


def change_first_answer(run, column, value):
    path = run / "answers-00000.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    arrays = run / "traces-00000.safetensors"
    save_file(load_file(arrays), arrays)  # without checksums, as older runs are


@pytest.mark.parametrize("number", [None, 0, -1])
def test_an_answer_of_no_number_of_tokens_breaks_its_shard(number, finished):
    change_first_answer(finished, "num_tokens", number)
    [fault] = open_run(finished).faults
    assert "it has an answer without a token" in fault


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("answer_ids", None),
        ("answer_ids", [None]),
        ("prompt_ids", []),
        ("pieces", None),
        ("answer_tokens", [None]),
        ("alternative_ids", None),
        ("alternative_texts", [None]),
        ("fact", None),
        ("fact", [True] * 99),
    ],
)
def test_an_invalid_answer_is_refused_when_opened(column, value, finished):
    change_first_answer(finished, column, value)
    run = open_run(finished)
    with pytest.raises(RunError, match="Shard 0 of run contains an invalid answer"):
        fact_masks(run) if column == "fact" else trace(run, 0)
