"""The commands, options, paths and calls in README, CONTRIBUTING and docs exist; their examples run.

Those of docs run beside the wheel, in tests/browser/test_installed.py.
"""

import ast
import dataclasses
import importlib.util
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from analysis.cli import main as analysis_cli
from analysis.datasets.names import EMBEDDED_SETS, FACT_SETS
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from rauq import score
from rauq.cli import inspect
from rauq.cli.commands import option_of
from rauq.recorded.answers import load_recorded
from rauq.recorded.scores import load_scores
from rauq.scoring import report
from rauq.scoring.declaration import declared
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace
from tests.run_documents import BLOCK
from tests.traces import make_trace

ROOT = Path(__file__).parents[1]
PAGES = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *PAGES)


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
    folder = (ROOT / document).parent
    assert [path for path in paths if not ((folder / path).exists() or (ROOT / path).exists())] == []


@pytest.mark.parametrize(("document", "most"), [("README.md", 1500), *((page, 899) for page in PAGES)])
def test_a_document_is_short(document, most):
    words = [word for word in text_of(document).split() if any(map(str.isalnum, word))]
    assert len(words) <= most


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_an_example_that_is_run_and_the_readme_leads_to_it(page):
    assert BLOCK.search(text_of(page))
    assert f"]({page})" in text_of("README.md")


def test_numbers_of_what_is_included_are_right():
    models = Counter(recorded.trace().model for recorded in load_recorded())
    scores = {scores.model: len(scores.correct) for scores in load_scores()}
    said = " ".join(text_of("docs/inspect.md").split())
    assert f"{models.total()} recordings, {models.total() - models['atlas']} of real models" in said
    assert models["atlas"] == 8
    assert f"{scores['smollm2']} answers of smollm2, {scores['atlas']} of atlas" in said
    assert f"{len(open_run(bundled_folder()).answers)} plain questions" in text_of("docs/runs.md")


@pytest.fixture(scope="module")
def contract():
    spec = importlib.util.spec_from_file_location("contract", ROOT / ".ci" / "contract.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("described", [Trace, Score])
def test_every_field_is_described_in_the_order_of_the_class(described, contract):
    assert list(contract.fields_of(described)) == [field.name for field in dataclasses.fields(described)]
    assert all(contract.fields_of(described).values())


def test_the_contract_has_the_fields_as_their_docstrings_describe_them(contract):
    page = text_of("docs/contract.md")
    assert contract.with_tables(page) == page, "run `python .ci/contract.py`"
    assert all(f"| `{field.name}` |" in page for of in (Trace, Score) for field in dataclasses.fields(of))


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
    table = text_of("docs/command_line.md").partition("| Option |")[2].partition("\n\n")[0]
    of_settings = set(map(option_of, declared(Settings)))  # --help describes each, as its field declares it
    assert of_settings < offered
    assert set(re.findall(r"--[a-z][a-z-]*", table)) - of_settings == offered - of_settings


def test_named_options_and_data_sets_of_the_analysis_exist(capsys):
    with pytest.raises(SystemExit):
        analysis_cli.main(["score", "--help"])
    offered = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    section = text_of("docs/runs.md").partition("| option of `score` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"--[a-z][a-z-]*", section)) <= offered
    table = text_of("docs/data_sets.md").partition("| `--data` |")[2].partition("\n\n")[0]
    rows = "".join(re.findall(r"^\| (`.*) \|", table, re.MULTILINE))
    assert set(re.findall(r"`([a-z0-9_]+)`", rows)) == {*EMBEDDED_SETS, *FACT_SETS, *PAPER_SETS}


def test_keys_of_the_json_object_are_described():
    trace = make_trace()
    section = text_of("docs/command_line.md").partition("The JSON object has the keys ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", section) == list(report.as_json(trace, score(trace)))


def test_every_dependency_is_explained():
    pinned = set(re.findall(r"^([\w-]+)==", text_of("requirements.txt"), re.MULTILINE))
    section = text_of("README.md").partition("What each dependency is for")[2].partition("\n## ")[0]
    explained = {name for row in re.findall(r"^\| ([\w, -]+) \|", section, re.MULTILINE) for name in row.split(", ")}
    assert explained == pinned


def test_the_first_lines_of_python_print_an_uncertainty(capsys):
    first = text_of("README.md").partition("**Use it in Python**")[2].partition("```python\n")[2].partition("```")[0]
    exec(first, {})  # noqa: S102 - the README's own
    assert float(capsys.readouterr().out) > 0


def test_a_method_of_ones_own_takes_few_lines():
    code = "".join(re.findall(r"```python\n(.*?)```", text_of("docs/own_method.md"), re.DOTALL))
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
