"""The commands, options, paths and calls in README and CONTRIBUTING exist."""

import ast
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from analysis.cli import main as analysis_cli
from analysis.datasets.names import EMBEDDED_SETS, FACT_SETS
from analysis.datasets.twelve import PAPER_SETS
from rauq import score
from rauq.cli import inspect
from rauq.scoring import report
from tests.traces import make_trace

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_targets_exist(document):
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z -]+)`|^make ([a-z-]+)", text_of(document), re.MULTILINE))
    assert {target for names in named for name in names for target in name.split()} <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_paths_lead_somewhere(document):
    text = text_of(document)
    paths = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r"`((?:rauq|analysis|tests|pages)/[\w/.]+)`", text)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def walks():
    """Title of each walk in CONTRIBUTING, with its stops: the calls in order, each with its file."""
    section = text_of("CONTRIBUTING.md").partition("## Two walks through the code")[2].partition("\n## ")[0]
    _, *parts = re.split(r"^(\*\*.*)$", section, flags=re.MULTILINE)
    return [(title, stops_of(steps)) for title, steps in zip(parts[::2], parts[1::2], strict=True)]


def stops_of(steps):
    stops, calls = [], []
    for name in re.findall(r"`([^`]+)`", steps):
        if "/" in name:
            stops += [(call, name) for call in calls]
            calls = []
        else:
            calls.append(name)
    return stops


def defined(path):
    """Names of all functions in a file, those of classes with the class."""
    found = set()
    for node in ast.parse(text_of(path)).body:
        members = node.body if isinstance(node, ast.ClassDef) else ()
        found |= {getattr(node, "name", ""), *(f"{node.name}.{getattr(one, 'name', '')}" for one in members)}
    return found


@pytest.mark.parametrize(("title", "stops"), walks())
def test_a_walk_names_functions_that_exist_and_counts_them(title, stops):
    assert [stop for stop in stops if stop[0] not in defined(stop[1])] == []
    assert re.findall(r"\d+(?= calls| files)", title) == [str(len(stops)), str(len({path for _, path in stops}))]


@pytest.mark.parametrize(("title", "stops"), walks())
def test_a_walk_hardly_returns_to_a_file_it_has_left(title, stops):
    entered = [path for (_, before), (_, path) in pairwise(stops) if path != before]
    assert max(map(entered.count, entered)) <= 2, title


def test_options_of_the_command_line_are_described(capsys):
    with pytest.raises(SystemExit):
        inspect.main(["inspect", "--help"])
    offered = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"}
    section = text_of("README.md").partition("## Command line")[2].partition("\n## ")[0]
    assert set(re.findall(r"--[a-z][a-z-]*", section)) == offered


def test_named_options_and_data_sets_of_the_analysis_exist(capsys):
    with pytest.raises(SystemExit):
        analysis_cli.main(["score", "--help"])
    offered = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    section = text_of("README.md").partition("## Data sets on the command line")[2].partition("\n## ")[0]
    assert set(re.findall(r"--[a-z][a-z-]*", section)) <= offered
    rows = "".join(re.findall(r"^\| (`.*) \|", section, re.MULTILINE))
    assert set(re.findall(r"`([a-z0-9_]+)`", rows)) == {*EMBEDDED_SETS, *FACT_SETS, *PAPER_SETS}


def test_keys_of_the_json_object_are_described():
    trace = make_trace()
    section = text_of("README.md").partition("The JSON object has the keys ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", section) == list(report.as_json(trace, score(trace)))


def test_every_dependency_is_explained():
    pinned = set(re.findall(r"^([\w-]+)==", text_of("requirements.txt"), re.MULTILINE))
    section = text_of("README.md").partition("What each dependency is for")[2].partition("\n## ")[0]
    explained = {name for row in re.findall(r"^\| ([\w, -]+) \|", section, re.MULTILINE) for name in row.split(", ")}
    assert explained == pinned


def example_of(document, folder):
    """The Python code of a document, as a file of a folder."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", text_of(document), re.DOTALL))
    (folder / "my_module.py").write_text(code)
    return code


def ran_in(folder, *arguments):
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout


def test_the_first_lines_of_python_print_an_uncertainty(capsys):
    first = text_of("README.md").partition("**Use it in Python**")[2].partition("```python\n")[2].partition("```")[0]
    exec(first, {})  # noqa: S102 - the README's own
    assert float(capsys.readouterr().out) > 0


def test_the_example_of_a_method_of_ones_own_runs_in_another_folder_and_on_the_command_line(
    tmp_path, monkeypatch, capsys
):
    code = example_of("docs/own_method.md", tmp_path)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    printed = ran_in(tmp_path, "my_module.py")
    assert {"answer", "quality", "rauq", "weakest_token"} <= set(printed.split())
    assert len(printed.splitlines()) == 5
    (command,) = re.findall(r"^python -m analysis (score .*)$", text_of("docs/own_method.md"), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    assert analysis_cli.main([*command.split(), "--limit", "2", "--max-new-tokens", "3"]) == 0
    assert "Weakest token" in capsys.readouterr().out
    del sys.modules["my_module"]


def test_the_examples_of_data_frames_run_in_another_folder(tmp_path):
    example_of("docs/data_frames.md", tmp_path)
    assert ran_in(tmp_path, "my_module.py").startswith("2 rows; () 2 of 2 rows have a reference of at most 5 words")
    assert "own_quality" in (tmp_path / "run" / "manifest.json").read_text()
