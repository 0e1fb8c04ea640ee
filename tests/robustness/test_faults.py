"""Fault injection for scoring jobs and the app, a few times each."""

import os
import sys
from types import ModuleType

import pytest

from tests.robustness.faults import broken_shards, full_disks, kills, vanished_models
from tests.robustness.scoring_job import differences, run_job, tiny_runs

TIMES = {kills: 3, full_disks: 3, vanished_models: 2, broken_shards: 20}


@pytest.fixture(scope="module")
def runs():
    with tiny_runs() as runs:
        yield runs


@pytest.mark.parametrize(("inject", "count"), TIMES.items(), ids=[fault.__name__ for fault in TIMES])
def test_nothing_is_lost(inject, count, runs):
    injected = inject(runs, count=count, seed=0)
    assert injected.times == count
    assert injected.losses == ()


def test_jobs_do_not_run_the_script_that_a_test_of_pages_left_behind(runs, tmp_path, monkeypatch):
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "page.py")
    (tmp_path / "page.py").write_text("raise SystemExit(1)")
    monkeypatch.setitem(sys.modules, "__main__", script)
    folder = runs.copy_of(runs.new)
    run_job(folder)
    assert differences(runs, folder) == []
    assert sys.modules["__main__"] is script


def _exit(_folder, _status):
    os._exit(3)


def test_a_job_that_dies_by_itself_was_not_killed(runs):
    end = run_job(runs.copy_of(runs.new), harm=_exit)
    assert (end.killed, end.error) == (False, "exit code 3 without a message")
