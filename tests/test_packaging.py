"""What pip is told: versions, extras, the citation; and how sources are rewritten for the wheel."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import rauq

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = dict(
    re.sub(r"\[.*?\]", "", line).split("==")
    for file in ("requirements.txt", "requirements-extra.txt")
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
    if "==" in line
)


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("wheel", ROOT / ".ci" / "wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def required(lists):
    found = [Requirement(text) for texts in lists for text in texts]
    return [one for one in found if one.name != "rauq"]


def test_pins_and_ranges_name_the_same_packages():
    named = {one.name.replace("-", "_") for one in required([PROJECT["dependencies"], *EXTRAS.values()])}
    assert named == {name.replace("-", "_") for name in PINS}


@pytest.mark.parametrize("one", required([PROJECT["dependencies"], *EXTRAS.values()]), ids=str)
def test_every_pin_is_in_the_range(one):
    assert one.specifier.contains(PINS[one.name])


def test_the_library_has_ranges_and_the_app_exact_versions():
    assert [one for one in PROJECT["dependencies"] if "==" in one] == []
    assert [one for one in required([EXTRAS["app"]]) if "==" not in str(one)] == []


def test_every_supported_python_runs_the_checks():
    supported = re.findall(r"Python :: (3\.\d+)", str(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', workflow) == supported
    assert "run: .ci/run" in workflow


def test_version_and_title_are_cited_as_they_are():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", cited, re.MULTILINE) == [rauq.__version__]
    assert (
        re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
        == rauq.__version__
    )
    title, *authors = re.findall(r"title: (Efficient.*)|family-names: (\w+)", cited)
    first_page = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert title[0] in first_page
    assert ", ".join(name for _, name in authors) in first_page


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("from analysis.runs.job import LOG", "from rauq.analysis.runs.job import LOG"),
        ("def f():\n    from pages.ui.host import cache\n", "def f():\n    from rauq.web.pages.ui.host import cache\n"),
        ("from analysis import (\n    figures,\n)", "from rauq.analysis import (\n    figures,\n)"),
        ("from rauq.trace import trace", "from rauq.trace import trace"),
        ('"""\nfrom analysis import x\n"""', '"""\nfrom analysis import x\n"""'),
        ("'python -m analysis score'", "'python -m analysis score'"),
    ],
)
def test_imports_are_those_of_the_wheel_and_no_other_text_changes(source, rewritten, hook):
    assert hook.rewritten(source) == rewritten


@pytest.mark.parametrize("source", ["import analysis", "import analysis.runs.job as job", "import os, pages"])
def test_an_import_that_cannot_be_rewritten_ends_the_build(source, hook):
    with pytest.raises(ValueError, match="write `from"):
        hook.rewritten(source)
