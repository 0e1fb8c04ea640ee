"""The limits that a process sets itself hold, whatever it does."""

import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.uploads.limits import OUT_OF_MEMORY, OUT_OF_ROOM, Limits
from analysis.uploads.process import _why, read_apart
from rauq.errors import InvalidInput

ROOT = Path(__file__).parents[3]
BEGIN = "from analysis.uploads.limits import Limits, confine; confine(Limits({})); print('begun', flush=True); "


def ended(limits, *does):
    """The exit code and the words of a process with these limits that does this."""
    code = "\n".join((BEGIN.format(limits), *does))
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout == "begun\n"
    return ran.returncode, ran.stderr


def test_processor_time_and_wall_time_end_it():
    assert ended("processor=1", "while True: pass")[0] == -signal.SIGXCPU
    assert ended("wall=0.1", "import time", "time.sleep(100)")[0] == -signal.SIGALRM


def test_more_memory_and_larger_files_are_errors(tmp_path):
    code, said = ended("memory=2 ** 29", "bytearray(2 ** 29)")
    assert (code, said.splitlines()[-1]) == (1, "MemoryError")
    for size, end in ((1000, 0), (2000, 1)):
        code, said = ended(
            "file=1000", f"with open({str(tmp_path / 'a')!r}, 'wb') as file:", f"    file.write(bytes({size}))"
        )
        assert (code, "File too large" in said) == (end, end == 1)


def test_lower_limits_of_the_system_stay():
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); " + BEGIN.format("memory=2**40")
    asked = f"{code}\nassert resource.getrlimit(resource.RLIMIT_AS) == (2**29, 2**29)"
    subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, check=True, timeout=120)


def test_it_gives_way_to_the_app():
    assert ended("", "import os, sys", "sys.exit(os.nice(0) <= os.getpriority(os.PRIO_PROCESS, os.getppid()))")[0] == 0


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-signal.SIGXCPU, "more than 60 s"),
        (-signal.SIGALRM, "more than 180 s"),
        (-signal.SIGKILL, "more than 180 s"),
        (OUT_OF_MEMORY, "more than 1.6 GB of memory"),
        (-signal.SIGABRT, "more than 1.6 GB of memory"),
        (-signal.SIGSEGV, "more than 1.6 GB of memory"),
        (OUT_OF_ROOM, "more than 16.8 MB, this host's limit"),
        (1, "ended unexpectedly (code 1)"),
    ],
)
def test_an_end_is_said_in_words(code, said):
    assert said in _why(code, Limits())


@pytest.fixture
def instead(monkeypatch, tmp_path):
    """Let a script of the shell run in place of the process."""

    def put(*lines):
        script = tmp_path / "instead"
        script.write_text("\n".join(("#!/bin/sh", *lines)))
        script.chmod(0o700)
        monkeypatch.setattr("rauq.layout.sys.executable", str(script))

    return put


def answer(**limits):
    return read_apart("table", "{}", io.BytesIO(b"upload"), limits=Limits(**limits), refusal=InvalidInput)


def test_the_upload_is_its_input_and_its_output_the_answer(instead):
    instead("cat")
    assert answer() == b"upload"


def test_an_answer_without_end_is_cut_off_and_a_process_that_ignores_its_limits_is_killed(instead, monkeypatch):
    instead("while true; do echo endless; done")
    with pytest.raises(InvalidInput, match=r"takes more than 10\.0 kB, this host's limit"):
        answer(answer=10_000)
    monkeypatch.setattr("analysis.uploads.process._PATIENCE", 0)
    instead("exec sleep 1000")
    with pytest.raises(InvalidInput, match=r"takes more than 0\.2 s"):
        answer(wall=0.2)


def test_a_process_that_cannot_be_started_is_said_in_words(monkeypatch):
    monkeypatch.setattr("rauq.layout.sys.executable", "/nowhere")
    with pytest.raises(InvalidInput, match=r"The upload cannot be read here \(No such file"):
        answer()
