"""Runs are listed with what they are, found by safe names, deleted only where that is safe, and worked on elsewhere."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from analysis.runs import job, library
from analysis.runs.job import WORKING, only_job, read_status
from analysis.runs.library import BUNDLED, delete_run, folder_of, list_runs, runs_folder, slug
from analysis.runs.manifest import MANIFEST, size_of
from rauq.errors import InvalidInput, RunError
from tests.jobs import PATIENCE, POLL_SECONDS, ended


@pytest.fixture(autouse=True)
def bundled(finished_run, monkeypatch):
    monkeypatch.setattr(library, "bundled_folder", lambda: finished_run)
    return finished_run


def test_runs_are_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("RAUQ_RUNS", str(tmp_path))
    assert runs_folder() == tmp_path
    monkeypatch.delenv("RAUQ_RUNS")
    assert runs_folder().name == "runs"


def test_the_bundled_run_is_first_then_the_others_by_name(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "b")
    shutil.copytree(finished, tmp_path / "a")
    (tmp_path / "a" / MANIFEST).write_text("{")
    (tmp_path / "no run").mkdir()
    (tmp_path / "notes").mkdir()
    listed = list_runs(tmp_path)
    assert [run.name for run in listed] == [BUNDLED, "a", "b", "run"]
    assert [run.read_only for run in listed] == [True, False, False, False]
    assert "cannot be read" in listed[1].fault
    assert (listed[1].manifest, listed[1].status) == (None, None)
    assert listed[2].status.state == "finished"
    assert listed[2].num_bytes == size_of(finished) > 10_000


def test_no_folder_means_no_run_but_the_bundled_one(tmp_path):
    assert [run.name for run in list_runs(tmp_path / "none")] == [BUNDLED]


def test_a_run_with_the_name_of_the_bundled_one_is_listed_with_its_fault(finished):
    finished.rename(finished.with_name(BUNDLED))
    assert "Rename" in list_runs(finished.parent)[1].fault


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "..\\x", ".hidden", "a b", "ü", "x" * 65, "a\0", "a\n"])
def test_names_that_lead_elsewhere_are_refused(name, tmp_path):
    with pytest.raises(InvalidInput, match="is not a valid name for a run"):
        folder_of(name, tmp_path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SciQ on Llama-3.1", "SciQ-on-Llama-3.1"),
        ("../etc", "etc"),
        ("Übung 1", "Ubung-1"),
        ("🦙", "run"),
        (BUNDLED, "run"),
    ],
)
def test_any_text_makes_a_name(text, name, tmp_path):
    assert slug(text) == name
    assert folder_of(slug(text * 50), tmp_path).parent == tmp_path


def test_a_run_is_deleted_with_all_of_its_files(finished):
    (finished / "log.txt").write_text("said")
    delete_run(finished.name, finished.parent)
    assert list(finished.parent.iterdir()) == []


def test_a_half_deleted_run_is_listed_and_deleted(finished):
    (finished / MANIFEST).unlink()
    assert "is not a run" in list_runs(finished.parent)[1].fault
    delete_run(finished.name, finished.parent)
    assert list(finished.parent.iterdir()) == []


def test_what_is_not_ours_is_not_deleted(finished, bundled):
    root = finished.parent
    with only_job(finished), pytest.raises(RunError, match="a job is running on it"):
        delete_run("run", root)
    (root / "link").symlink_to(finished)
    with pytest.raises(RunError, match="a link"):
        delete_run("link", root)
    with pytest.raises(RunError, match="does not exist"):
        delete_run("none", root)
    with pytest.raises(RunError, match="comes with the app"):
        delete_run(BUNDLED, root)
    (finished / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"other files, such as thesis.txt"):
        delete_run("run", root)
    assert (finished / MANIFEST).exists()
    assert (bundled / MANIFEST).exists()


def test_a_job_is_a_process_that_is_followed_and_stopped(prepared):
    job.start_job(prepared)
    status = read_status(prepared)
    assert status.state in WORKING
    assert status.pid != os.getpid()
    with pytest.raises(RunError, match="Another job"):
        job.start_job(prepared)
    job.request_stop(prepared)
    assert ended(prepared).state in ("stopped", "finished")
    assert "Traceback" not in job.last_lines(prepared, 100)


_KILLED = """
import os, signal, sys
from pathlib import Path
from analysis.runs import job

started = job._started

def started_and_killed(*arguments, **options):
    started(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

job._started = started_and_killed
job.start_job(Path(sys.argv[1]), with_parent=sys.argv[2] == "True")
"""


@pytest.mark.parametrize(("with_parent", "state"), [(True, "stopped"), (False, "finished")])
def test_a_job_ends_with_its_parent_only_if_asked_to(with_parent, state, prepared):
    command = [sys.executable, "-c", _KILLED, str(prepared), str(with_parent)]
    subprocess.run(command, check=False)
    deadline = time.monotonic() + PATIENCE
    while (status := read_status(prepared)).state in ("new", *WORKING) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    assert status.state == state


def test_of_two_jobs_started_at_the_same_moment_one_is_refused(prepared, monkeypatch):
    held = iter([False, True])
    monkeypatch.setattr(job, "is_held", lambda _: next(held))
    with only_job(prepared), pytest.raises(RunError, match=r"^Another job is using"):
        job.start_job(prepared)


def test_a_job_that_cannot_begin_says_why(prepared):
    (prepared / "examples.parquet").unlink()
    with pytest.raises(RunError, match=r"The job ended at once: .*examples.parquet cannot be read"):
        job.start_job(prepared)


def test_where_no_job_is_none_is_stopped(finished):
    with pytest.raises(RunError, match="No job is running on"):
        job.request_stop(finished)
    assert job.last_lines(finished, 3) == ""


def test_two_looks_at_a_run_do_not_take_each_other_for_a_job(tmp_path):
    with only_job(tmp_path):
        assert job.is_held(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(lambda _: job.is_held(tmp_path), range(2_000)))
