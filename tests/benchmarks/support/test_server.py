"""Benchmarks and browser tests start the server that users start."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.support.server import APP, ENVIRONMENT, HOST, NAMES, ROOT, STREAMLIT, hosting, started


def test_the_server_of_a_measurement_is_that_of_make_app(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    script = tmp_path / "empty.py"
    script.write_text("")
    with started(script) as server:
        process = Path("/proc", str(server.process.pid))
        *command, port = (process / "cmdline").read_text().rstrip("\0").split("\0")
        environment = dict(each.split("=", 1) for each in (process / "environ").read_text().split("\0") if each)
    assert port.startswith("--server.port=")
    assert command == [sys.executable, "-m", STREAMLIT, "run", str(script)]
    assert ENVIRONMENT.items() <= environment.items()
    assert "OMP_NUM_THREADS" not in environment


@pytest.mark.parametrize(
    ("target", "command"),
    [("app", [STREAMLIT, "run", APP]), ("host", [HOST, "--names", "rauq.example.org", "--port", "80"])],
)
def test_make_runs_the_command_that_is_measured(target, command):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target, "NAMES=rauq.example.org", "OPTIONS=--port 80"],
        cwd=ROOT, env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = shlex.split(said.stdout.splitlines()[-1])
    changes = dict(word.split("=", 1) for word in words if "=" in word)
    assert changes == dict(ENVIRONMENT)
    assert words[len(changes) :] == [".venv/bin/python", "-m", *command]


def test_the_host_of_a_measurement_is_that_of_make_host():
    with hosting("--frames", "https://example.org") as server:
        words = Path("/proc", str(server.process.pid), "cmdline").read_text().rstrip("\0").split("\0")
    assert words[1:5] == ["-m", HOST, "--names", NAMES]
    assert words[-2:] == ["--frames", "https://example.org"]
