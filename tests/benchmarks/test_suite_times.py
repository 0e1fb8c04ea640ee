"""CPU time of a process with all that it started, also where one of its threads ends meanwhile."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.support.suite_times import cpu_seconds


def test_a_child_counts_while_it_runs_and_once_it_has_ended():
    before = cpu_seconds(os.getpid())
    code = "sum(range(10**7)); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        own, while_it_runs = cpu_seconds(child.pid), cpu_seconds(os.getpid())
        assert 0 < own <= while_it_runs - before + 0.001  # a sum of floats
        child.communicate(b"\n")
    assert cpu_seconds(os.getpid()) >= while_it_runs


def test_a_thread_that_has_ended_hides_nothing_else(monkeypatch):
    before, read = cpu_seconds(os.getpid()), Path.read_text

    def ended(path, **options):
        if path.name == "children":
            raise FileNotFoundError(path)
        return read(path, **options)

    monkeypatch.setattr(Path, "read_text", ended)
    assert 0 < cpu_seconds(os.getpid()) <= before + 60


def test_a_process_that_has_ended_took_nothing():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert cpu_seconds(child.pid) == 0
