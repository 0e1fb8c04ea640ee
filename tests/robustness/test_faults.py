"""What scoring jobs and the app survive, a few times each."""

import os
import sys
from types import ModuleType

import pytest

from analysis.runs.job import read_status
from tests.robustness.faults_of_files import broken_shards
from tests.robustness.faults_of_jobs import full_disks, kills, vanished_models
from tests.robustness.faults_of_the_server import ended_servers
from tests.robustness.jobs_at_work import runs_at_hand, worked

TIMES = {kills: 3, full_disks: 3, vanished_models: 2, broken_shards: 20, ended_servers: 1}


@pytest.mark.parametrize(("bring_about", "count"), TIMES.items(), ids=[fault.__name__ for fault in TIMES])
def test_nothing_is_lost(bring_about, count):
    survived = bring_about(count=count, seed=0)
    assert survived.times == count
    assert survived.losses == ()


def test_jobs_do_not_run_the_script_that_a_test_of_pages_left_behind(tmp_path, monkeypatch):
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "page.py")
    (tmp_path / "page.py").write_text("raise SystemExit(1)")
    monkeypatch.setitem(sys.modules, "__main__", script)
    with runs_at_hand() as runs:
        assert read_status(runs.whole).state == "finished"
        assert sys.modules["__main__"] is script


def _dies(_folder, _status):
    os._exit(3)


def test_a_job_that_dies_by_itself_was_not_killed():
    with runs_at_hand() as runs:
        ended = worked(runs.fresh(runs.prepared), harm=_dies)
    assert (ended.killed, ended.said) == (False, "ended with code 3, unheard")
