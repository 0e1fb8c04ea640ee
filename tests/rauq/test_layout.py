"""Another process finds this project, and no file of the folder in which it starts."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rauq
from rauq import layout
from rauq.layout import ANALYSIS, APP, HOST, ROOT, command, environment

COMMANDS = ("RAUQ_COMMAND", "ANALYSIS_COMMAND", "HOST_COMMAND", "EXTRAS_COMMAND")


@pytest.fixture
def folder(tmp_path):
    for name in ("rauq", "token", "analysis"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the current folder was imported')")
    return tmp_path


def test_a_module_runs_in_a_folder_with_files_under_its_names(folder):
    ran = subprocess.run(
        command("rauq", "--version"), cwd=folder, env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"rauq {rauq.__version__}\n", "")


def test_the_paths_of_the_user_are_kept_behind_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/of/the/user")
    assert environment()["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/of/the/user"]


def test_where_pip_installed_it_python_finds_it_by_itself(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/of/the/user")
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(ROOT))
    assert environment()["PYTHONPATH"] == "/of/the/user"


def test_the_repository_has_the_other_parts_beside_rauq():
    assert (ANALYSIS, HOST, APP) == ("analysis", "pages.ui.host.server", ROOT / "app.py")
    assert APP.is_file()


def test_the_package_of_answer_sets_is_an_attribute(monkeypatch):
    import analysis

    assert rauq.analysis is analysis
    monkeypatch.setitem(sys.modules, "analysis", os)
    with pytest.raises(ImportError, match=r"os\.py.* is no part of rauq"):
        _ = rauq.analysis


def test_messages_name_the_commands_of_the_repository_or_of_the_installed_package(tmp_path):
    assert [getattr(layout, name) for name in COMMANDS] == [
        "python -m rauq",
        "python -m analysis",
        "python -m pages.ui.host.server",
        "pip install -r requirements-extra.txt",
    ]
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "__init__.py").touch()
    installed = runpy.run_path(shutil.copy(Path(layout.__file__), tmp_path))
    assert [installed[name] for name in COMMANDS] == ["rauq", "rauq", "rauq host", "pip install 'rauq[data,judges]'"]
