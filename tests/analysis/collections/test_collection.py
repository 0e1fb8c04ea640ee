"""Runs side by side: each in one place, with the paper's names, tasks and classes of models."""

from dataclasses import replace

import pytest

from analysis.collections.collection import cell_of, collect
from analysis.paper import published_tables
from analysis.runs.opened import open_run
from rauq.checkpoints.kinds import PRESETS
from rauq.errors import InvalidInput
from tests.analysis.collections.made_cells import PAPERS, answerer, make_cell, make_run, papers_cells


@pytest.mark.parametrize(
    ("data", "task", "column"),
    [
        ("SciQ", "QA", "SciQ"),
        ("GSM8k", "QA", "GSM8k"),
        ("CNN/DailyMail", "Summ", "CNN"),
        ("WMT14 Fr-En", "MT", "WMT14"),
        ("facts", "Facts", "facts"),
        ("facts_few_shot: capitals", "Facts", "facts_few_shot: capitals"),
        ("places", "Embedded", "places"),
        ("questions.csv", "Own files", "questions.csv"),
        ("facts: mine.csv", "Own files", "facts: mine.csv"),
    ],
)
def test_facts_embedded_sets_and_own_files_are_never_a_task_of_the_paper(data, task, column):
    cell = make_cell(data=data)
    assert (cell.task, cell.column) == (task, column)


def test_models_are_in_the_papers_tables():
    found = collect(papers_cells())
    assert set(found.models) == {one.name for one in PRESETS}
    assert list(found.models) == list(dict.fromkeys(one.model for one in published_tables()))
    assert found.of_class("base") == ("Llama-3.1 8B", "Qwen-2.5 7B", "Gemma-2 9B", "Falcon-3 10B")
    assert set(found.of_class("small_large")) == {"Llama-3.1 70B", "Llama-3.2 1B", "SmolLM-2 360M"}
    assert found.of_class("instruct") == ("GPT-OSS 20B", "Llama-3.1 8B-Instruct")
    assert found.columns[:3] == ("XSum", "SamSum", "CNN")
    assert len(found.columns) == len(PAPERS)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("org/SmolLM2-135M", "base", "small_large"),
        ("org/SmolLM2-135M-Instruct", "instruct", "instruct"),
        ("models/some-13b", "base", "base"),
        ("org/big-405B", "base", "small_large"),
        ("org/v0.5beta", "base", "base"),
        ("atlas", "base", "base"),
    ],
)
def test_the_class_of_another_model_follows_its_kind_and_its_name(name, kind, expected):
    assert make_cell(answerer=answerer(name, kind=kind)).model_class == expected


def test_two_runs_of_one_cell_are_refused_with_their_folders():
    with pytest.raises(InvalidInput, match=r"2 runs are of model on SciQ: .*model-SciQ, .*again") as caught:
        collect([make_cell(), make_cell(data="CoQA"), make_cell(folder="again")])
    assert "choose one" in str(caught.value)


def test_no_run_is_no_collection():
    with pytest.raises(InvalidInput, match="at least one run"):
        collect([])


def test_models_of_one_name_are_told_apart_by_kind_and_revision():
    other = replace(answerer("org/model", revision="abcdefghij"), kind="instruct")
    found = collect([make_cell(), make_cell(answerer=other), make_cell("another")])
    assert found.models == ("model (base, 0)", "model (instruct, abcdefg)", "another")


def test_a_run_becomes_a_cell_and_what_is_not_answered_is_counted(tmp_path):
    run = open_run(make_run(tmp_path, "meta-llama/Llama-3.1-8B", "SciQ", failures=3))
    cell = cell_of(run)
    assert (cell.model, cell.column, cell.run) == ("Llama-3.1 8B", "SciQ", run.folder.name)
    assert (len(cell.quality), cell.asked, cell.failed, cell.missing) == (30, 33, 3, 0)
    assert set(cell.uncertainties) == set(run.methods)
    assert cell.uncertainties["msp"].tolist() == run.answers["msp"].tolist()
    assert cell.measure == "Quality of the data set"
