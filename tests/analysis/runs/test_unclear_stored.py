"""Whether an answer is unclear is stored with it: in shards, the index and archives; what is older opens as before."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.runs.archive import export_zip, import_zip
from analysis.runs.files import index
from analysis.runs.files.corrections import crc32_of, read_corrections
from analysis.runs.manifest import CORRECTIONS, answers_path, traces_path
from analysis.runs.opened import open_run
from analysis.runs.verdicts import correct_verdict, leave_out
from tests.analysis.report.made_run import made_run
from tests.shards import rewrite, without_checksums

UNCLEAR = (1, 3)


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path / "run", quality=[1.0, 0.0, np.nan, 1.0, 0.0], unclear=UNCLEAR)


def flags(run):
    return run.answers["unclear"].tolist()


def test_the_flag_is_read_back_by_the_index_too(run, monkeypatch):
    expected = [False, True, False, True, False]
    assert flags(run) == expected
    assert run.answers["quality_reason"].tolist()[1] == "unclear: it also names 'a'"
    monkeypatch.setattr(index, "INDEXED_FROM", 1)
    for _ in range(2):  # written, and read
        found = open_run(run.folder)
        assert found.is_indexed
        assert flags(found) == expected


def test_an_answer_that_is_left_out_has_no_quality_and_is_not_unclear(run):
    leave_out(run, 1)
    leave_out(run, 4)  # which a rule has decided
    found = open_run(run.folder).answers
    assert found["quality"].isna().tolist() == [False, True, True, True, True]
    assert found["quality_reason"].tolist()[1] == found["quality_reason"].tolist()[4] == "left out by hand"
    assert found["unclear"].tolist() == [False, False, False, True, False]
    assert found["corrected"].tolist() == [False, True, False, False, True]
    correct_verdict(run, 1, correct=None)
    assert flags(open_run(run.folder)) == flags(run)


def test_an_archive_keeps_flags_and_what_was_left_out(finished, tmp_path):
    unclear = {"unclear": True, "quality": np.nan, "quality_reason": "unclear: a list"}
    rewrite(finished, 0, lambda row: row | (unclear if row["number"] in (0, 1) else {}))
    leave_out(open_run(finished), 1)
    with export_zip(finished) as archive:
        copy = import_zip(io.BytesIO(archive.read()), tmp_path / "copies", "copy")
    found = open_run(copy)
    assert not found.faults
    assert flags(found)[:3] == [True, False, False]
    assert found.answers["quality_reason"].tolist()[:2] == ["unclear: a list", "left out by hand"]


def test_a_shard_from_before_has_no_unclear_answer(run):
    path, traces = answers_path(run.folder, 0), traces_path(run.folder, 0)
    pq.write_table(pq.read_table(path).drop_columns(["unclear"]), path)
    traces.write_bytes(without_checksums(traces.read_bytes()))
    found = open_run(run.folder)
    assert found.faults == ()
    assert flags(found) == [False] * 5


def test_an_answer_with_a_quality_is_not_unclear_whatever_its_shard_says(run):
    rewrite(run.folder, 0, lambda row: row | {"unclear": True})
    assert flags(open_run(run.folder)) == [False, True, True, True, False]


def test_corrections_from_before_are_read(run):
    rows = [{"answer_crc32": crc32_of(run.answers["answer"].iloc[1]), "correct": True, "number": 1}]
    text = json.dumps(rows, sort_keys=True)
    content = {"schema": 1, "crc32": crc32_of(text), "corrections": rows}
    (run.folder / CORRECTIONS).write_text(json.dumps(content), encoding="utf-8")
    assert [one.correct for one in read_corrections(run.folder)] == [True]
    assert open_run(run.folder).answers["quality"].tolist()[1] == 1.0
