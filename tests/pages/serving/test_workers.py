"""Workers are started, started again when they end, and stopped with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

from benchmarks.support.server import PATIENCE, ROOT
from pages.ui.serving import workers

# A program that leaves a file for each worker that starts and for each signal that one gets.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from pages.ui.serving.workers import is_orphan, is_supervisor, supervise, this_worker

folder, status, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
if is_supervisor(count):
    sys.exit(supervise(count))
worker = this_worker()
told = []

def hear(number, frame):
    told.append(number)
    (folder / f"told {worker.number} {len(told)}").touch()

signal.signal(signal.SIGTERM, hear)
signal.signal(signal.SIGINT, signal.SIG_DFL)
(folder / f"begun {worker.number} of {worker.of} {os.getpid()}").touch()
while len(told) < 2 and not is_orphan() and not status:
    time.sleep(0.02)
(folder / f"ended {worker.number}").touch()
sys.exit(status)
"""


@contextmanager
def supervised(folder, *, status=0, count=2):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(status), str(count)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()
            for name in named(folder, "begun"):
                with suppress(ProcessLookupError):
                    os.kill(pid(name), signal.SIGKILL)


def named(folder, start):
    return sorted(path.name for path in folder.glob(f"{start} *"))


def pid(name):
    return int(name.split()[-1])


def until(reached):
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def numbers(folder):
    return [name.rpartition(" ")[0] for name in named(folder, "begun")]


def test_each_worker_knows_which_it_is_and_hears_every_request_to_stop(tmp_path):
    with supervised(tmp_path) as process:
        until(lambda: len(numbers(tmp_path)) == 2)
        assert numbers(tmp_path) == ["begun 1 of 2", "begun 2 of 2"]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to the whole group
        until(lambda: named(tmp_path, "told") == ["told 1 1", "told 2 1"])
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert named(tmp_path, "ended") == ["ended 1", "ended 2"]


def test_a_worker_that_is_killed_is_started_again_and_the_others_go_on(tmp_path):
    with supervised(tmp_path):
        until(lambda: len(numbers(tmp_path)) == 2)
        first, second = named(tmp_path, "begun")
        os.kill(pid(first), signal.SIGKILL)
        until(lambda: len(numbers(tmp_path)) == 3)
        assert numbers(tmp_path).count("begun 1 of 2") == 2
        os.kill(pid(second), 0)  # it lives
        assert named(tmp_path, "told") == []


def test_workers_that_fail_as_soon_as_they_start_end_all_with_their_status(tmp_path):
    with supervised(tmp_path, status=3) as process:
        assert process.wait(PATIENCE) == 3
    assert set(numbers(tmp_path)) == {"begun 1 of 2", "begun 2 of 2"}


def test_workers_see_that_the_one_who_started_them_was_killed(tmp_path):
    with supervised(tmp_path) as process:
        until(lambda: len(numbers(tmp_path)) == 2)
        process.kill()
        until(lambda: named(tmp_path, "ended") == ["ended 1", "ended 2"])


@pytest.mark.parametrize("count", [1, 2])
def test_one_process_needs_no_other(monkeypatch, count):
    monkeypatch.delenv(workers._VARIABLE, raising=False)
    assert workers.this_worker() == workers.Worker(number=1, of=1)
    assert workers.is_supervisor(count) == (count > 1)
    assert not workers.is_orphan()
