"""Verdicts corrected by the user: kept with the run, applied wherever it is read, counted, undone, never lost."""

import io
import json
import os
import signal
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from analysis.exports.csv_text import csv_table
from analysis.report.results import ReportSettings, results
from analysis.report.tables import answers_frame
from analysis.report.writing import report_page
from analysis.runs import verdicts
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.files.corrections import (
    add_correction,
    correction,
    read_corrections,
    remove_correction,
    remove_corrections,
)
from analysis.runs.manifest import CORRECTIONS, foreign, state_of
from analysis.runs.opened import open_run
from analysis.runs.verdicts import about_corrections, correct_verdict, why_fixed
from analysis.runs.work import work
from rauq.errors import InvalidInput, RunError
from tests.analysis.report.made_run import made_run

QUALITY = (1.0, 0.0, np.nan, 0.33)


@pytest.fixture
def small(tmp_path):
    return made_run(tmp_path / "small", quality=QUALITY)


def quality(run):
    return open_run(run.folder).answers["quality"].tolist()


def test_a_correction_holds_wherever_the_run_is_read_and_the_shard_stays(small):
    before = {path.name: path.read_bytes() for path in small.folder.iterdir()}
    for number, correct in ((0, False), (2, True), (3, True)):
        correct_verdict(small, number, correct=correct)
    run = open_run(small.folder)
    assert run.answers["quality"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert run.answers["corrected"].tolist() == [True, False, True, True]
    assert run.answers["measured_quality"].tolist() == pytest.approx(QUALITY, nan_ok=True)
    assert run.answers["quality_reason"].tolist() == ["", "", "", ""]
    assert about_corrections(run) == "3 verdicts corrected by hand."
    assert {name: (small.folder / name).read_bytes() for name in before} == before
    assert foreign(small.folder) == []


def test_the_last_of_two_corrections_holds_and_each_is_undone(small):
    correct_verdict(small, 0, correct=False)
    correct_verdict(small, 1, correct=True)
    correct_verdict(small, 0, correct=True)
    assert len(read_corrections(small.folder)) == 2
    assert quality(small)[:2] == [1.0, 1.0]
    correct_verdict(small, 1, correct=None)
    correct_verdict(small, 3, correct=None)  # which was never corrected
    assert quality(small)[:2] == [1.0, 0.0]
    assert about_corrections(open_run(small.folder)) == "1 verdict corrected by hand."
    remove_corrections(small.folder)
    assert not (small.folder / CORRECTIONS).exists()
    assert about_corrections(open_run(small.folder)) == ""


def test_a_correction_that_says_what_the_measure_says_is_counted_too(small):
    correct_verdict(small, 0, correct=True)
    assert open_run(small.folder).answers["corrected"].tolist() == [True, False, False, False]


@pytest.mark.parametrize("number", [4, 5, -1])
def test_only_answers_have_verdicts(small, number):
    with pytest.raises(InvalidInput, match="no answer"):
        correct_verdict(small, number, correct=True)


def test_the_bundled_run_and_one_of_another_scale_are_fixed(small, monkeypatch, tmp_path):
    ratings = made_run(tmp_path / "ratings", quality=(1.0, 5.0))
    assert "scale from 0 to 1" in why_fixed(ratings)
    comet = replace(ratings.manifest, request=replace(ratings.manifest.request, quality="comet"))
    assert why_fixed(replace(ratings, manifest=comet)) == ""  # it may lie a little beyond 1
    assert why_fixed(small) == ""
    monkeypatch.setattr(verdicts, "bundled_folder", lambda: small.folder)
    with pytest.raises(InvalidInput, match="came with the app"):
        correct_verdict(small, 0, correct=False)
    assert not (small.folder / CORRECTIONS).exists()


def test_two_sessions_at_once_lose_nothing(small):
    def judge(numbers):
        for number in numbers:
            add_correction(small.folder, correction(number, "a", correct=True))

    sessions = [threading.Thread(target=judge, args=(range(start, 40, 4),)) for start in range(4)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    assert [one.number for one in read_corrections(small.folder)] == list(range(40))


def test_a_writer_that_is_killed_leaves_a_whole_file_and_a_free_lock(small):
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            for number in range(10_000):
                add_correction(small.folder, correction(number, "a", correct=True))
        os._exit(0)
    deadline = time.monotonic() + 30
    while len(read_corrections(small.folder)) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    before = read_corrections(small.folder)
    assert len(before) >= 5
    remove_correction(small.folder, 0)
    assert read_corrections(small.folder) == before[1:]


def rewritten(folder, **changes):
    found = json.loads((folder / CORRECTIONS).read_text())
    (folder / CORRECTIONS).write_text(json.dumps(found | changes))


def row(number=0, **changes):
    return {"number": number, "correct": True, "answer_crc32": 1} | changes


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / CORRECTIONS).write_bytes(b""),
        lambda folder: (folder / CORRECTIONS).write_bytes(b"\xff"),
        lambda folder: (folder / CORRECTIONS).write_text("[" * 100_000),
        lambda folder: (folder / CORRECTIONS).write_text("[]"),
        lambda folder: (folder / CORRECTIONS).write_text((folder / CORRECTIONS).read_text().replace("true", "false")),
        lambda folder: rewritten(folder, schema=3),
        lambda folder: rewritten(folder, corrections=[]),
        lambda folder: rewritten(folder, corrections={}),
    ],
)
def test_a_damaged_file_is_an_error_that_says_what_to_do_and_can_be_discarded(small, damage):
    correct_verdict(small, 1, correct=True)
    damage(small.folder)
    for read in (lambda: open_run(small.folder), lambda: correct_verdict(small, 0, correct=False)):
        with pytest.raises(RunError, match=r"corrections.json is damaged .* discard the corrections"):
            read()
    remove_corrections(small.folder)
    assert quality(small)[:2] == [1.0, 0.0]


@pytest.mark.parametrize(
    "rows",
    [
        [row(1), row(0)],
        [row(0), row(0)],
        [row(-1)],
        [row(10**9)],
        [row(correct=1)],
        [row(number=True)],
        [row(answer_crc32="1")],
        [row(more=1)],
        [{"number": 0}],
        ["x"],
        "x",
    ],
)
def test_a_file_that_no_app_wrote_is_refused(small, rows):
    text = json.dumps(rows, sort_keys=True)
    content = {"schema": 1, "crc32": zlib.crc32(text.encode()), "corrections": rows}
    (small.folder / CORRECTIONS).write_text(json.dumps(content))
    with pytest.raises(RunError, match="damaged"):
        read_corrections(small.folder)


@pytest.mark.parametrize("more", [b"[[]]", b"0" + b",0" * 3_000_010, b"[" + b"{}," * 1_000_010 + b"{}]"])
def test_values_that_no_correction_has_are_not_parsed(more, small):
    (small.folder / CORRECTIONS).write_bytes(b'{"schema": 1, "crc32": 0, "corrections": [], "more": ' + more + b"}")
    with pytest.raises(RunError, match="it holds other values than corrections"):
        read_corrections(small.folder)


def test_a_correction_of_another_answer_is_ignored_and_reported(small):
    add_correction(small.folder, correction(0, "another answer", correct=False))
    add_correction(small.folder, correction(4, "no answer", correct=True))
    add_correction(small.folder, correction(1, small.answers["answer"][1], correct=True))
    run = open_run(small.folder)
    assert run.answers["corrected"].tolist() == [False, True, False, False]
    assert "2 corrections are not used" in about_corrections(run)


def test_every_correction_is_another_state_of_the_run(small):
    seen = {state_of(small.folder)}
    for correct in (True, False, None):
        correct_verdict(small, 0, correct=correct)
        seen.add(state_of(small.folder))
    assert len(seen) == 3  # the last is the first


def test_report_and_tables_say_what_was_corrected(small):
    correct_verdict(small, 1, correct=True)
    found = results(open_run(small.folder), ReportSettings())
    assert "1 verdict corrected by hand." in report_page(found, (), ())
    header, _, second, *_ = [line.split(",") for line in csv_table(answers_frame(found)).splitlines()]
    cells = dict(zip(header, second, strict=True))
    assert [cells[name] for name in ("quality", "measured_quality", "corrected")] == ["1.0", "0.0", "True"]


def test_corrections_travel_with_the_run_and_outlive_a_resume(finished, tmp_path):
    run = open_run(finished)
    number = int(run.answers["number"].iloc[-1])
    correct_verdict(run, number, correct=True)
    with export_zip(finished) as file:
        content = file.read()
    folder = import_zip(io.BytesIO(content), tmp_path / "runs", "other")
    assert read_corrections(folder) == read_corrections(finished)
    assert open_run(folder).answers["quality"].iloc[-1] == 1.0
    last = finished / f"answers-{run.manifest.num_shards - 1:05}.parquet"
    last.unlink()
    assert "1 correction is not used" in about_corrections(open_run(finished))
    assert work(finished).state == "finished"
    assert about_corrections(open_run(finished)) == "1 verdict corrected by hand."
    (finished / CORRECTIONS).write_bytes(b"{}")
    with export_zip(finished) as file, pytest.raises(RunError, match="damaged"):
        import_zip(file, tmp_path / "runs", "damaged")
