"""The folder of a server's private files: deleted with the server, and by the next one if it was killed."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from pages.ui.host import session_runs
from pages.ui.host.session_runs import _LOCK

ROOT = Path(__file__).parents[3]
SERVER = """
import sys, threading
import streamlit as st
from pages.ui.host.session_runs import private_folder

place = private_folder()
st.cache_resource.clear()
assert private_folder() == place
(place / "session" / "run").mkdir(parents=True)
print(place, flush=True)
sys.stdin.read()
"""


@contextmanager
def server(temporary):
    """A process that made its place, and has it until the body ends."""
    command, pipe = [sys.executable, "-c", SERVER], subprocess.PIPE
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process, Path(process.stdout.readline().rstrip())


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A temporary folder in which a server was killed, other things stand, and a later server is started."""
    temporary = tmp_path_factory.mktemp("temporary")
    with server(temporary) as (process, place):
        process.kill()
    assert (place / "session" / "run").is_dir()
    for name in ("rauq-without-lock", "rauq-held", "other", "elsewhere"):
        (temporary / name / "session").mkdir(parents=True)
    for name in ("elsewhere", "other"):
        (temporary / name / _LOCK).touch()
    (temporary / "rauq-link").symlink_to(temporary / "elsewhere")
    (temporary / "rauq-file").touch()
    (temporary / "rauq-linked-lock").mkdir()
    (temporary / "rauq-linked-lock" / _LOCK).symlink_to(temporary / "elsewhere" / _LOCK)
    with FileLock(temporary / "rauq-held" / _LOCK), server(temporary) as (process, later):
        process.stdin.close()
        process.wait()
    return place, later


def test_what_a_killed_server_left_is_deleted_at_the_next_start(killed):
    place, _ = killed
    assert not place.exists()


def test_what_is_not_a_dead_server_s_stays(killed):
    place, _ = killed
    kept = {path.name for path in place.parent.iterdir()}
    left = {"rauq-without-lock", "rauq-held", "rauq-link", "rauq-file", "rauq-linked-lock", "elsewhere", "other"}
    assert kept == left
    assert (place.parent / "elsewhere" / "session").exists()


def test_a_server_that_stops_deletes_its_own(killed):
    place, later = killed
    assert later.parent == place.parent
    assert not later.exists()


def test_what_cannot_be_deleted_yet_keeps_its_lock_file_for_the_next_server(tmp_path, monkeypatch):
    (tmp_path / "session").mkdir()
    (tmp_path / _LOCK).touch()
    with monkeypatch.context() as patched:
        patched.setattr(session_runs.shutil, "rmtree", lambda *_arguments, **_options: None)  # a job still writes
        session_runs._delete_if_abandoned(tmp_path)
    assert (tmp_path / _LOCK).exists()
    session_runs._delete_if_abandoned(tmp_path)
    assert not tmp_path.exists()
