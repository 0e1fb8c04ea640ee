"""The commands, options and paths in README and CONTRIBUTING exist."""

import re
from pathlib import Path

import pytest

from analysis.cli import main as analysis_cli
from analysis.datasets.facts.questions import FACT_SETS
from analysis.datasets.names import EMBEDDED_SETS
from analysis.datasets.paper.twelve import PAPER_SETS
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
