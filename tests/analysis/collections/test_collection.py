"""Runs side by side: each in one place, with the paper's names, tasks and classes of models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from analysis import paper
from analysis.collections.collection import (
    Collection,
    RankedCell,
    RankedCollection,
    cell_of,
    collect,
    mean,
    rank_collection,
    shared,
)
from analysis.collections.layouts import by_data_set, by_task
from analysis.intervals import Scale, Spread
from analysis.methods.comparison import Ranking
from analysis.paper import published_tables
from analysis.runs.opened import open_run
from analysis.stats import Estimate, prr
from rauq.checkpoints.kinds import PRESETS
from rauq.errors import InvalidInput
from tests.analysis.collections.made_cells import METHODS, PAPERS, answerer, make_cell, make_run, papers_cells


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


def test_every_run_is_ranked_by_its_own_answers_and_threshold():
    strict = replace(make_cell().thresholds, roc=0.9)
    cells = [make_cell(), make_cell(data="CoQA", thresholds=strict)]
    by_prr, by_roc = (rank_collection(collect(cells), metric) for metric in ("prr", "roc_auc"))
    for place, cell in enumerate(cells):
        for method, values in cell.uncertainties.items():
            wrong = cell.quality <= cell.thresholds.roc
            assert by_prr.cells[place].rankings[method].estimate.value == pytest.approx(prr(values, cell.quality))
            found = by_roc.cells[place].rankings[method].estimate
            assert found.value == pytest.approx(roc_auc_score(wrong, values))


def test_intervals_are_on_demand_and_change_no_value():
    cells = [make_cell(size=120), make_cell(data="CoQA", size=120)]
    plain, having = (
        by_task(rank_collection(collect(cells), "prr", intervals=shown), ["model"], name="a", heading="a")
        for shown in (False, True)
    )
    pd.testing.assert_frame_equal(plain.frame, having.frame)
    assert not any("[" in cell.words for row in plain.cells for cell in row)
    assert all("[" in cell.words for row in having.cells for cell in row)


def test_the_interval_of_a_mean_is_that_of_independent_data_sets():
    cells = [make_cell(data=data, size=200) for data in ("CoQA", "SciQ", "MMLU")]
    ranked = rank_collection(collect(cells), "prr")
    found = mean([one.rankings["rauq"] for one in ranked.cells]).estimate
    rng = np.random.default_rng(5)
    drawn = [
        [prr(cell.uncertainties["rauq"][rows], cell.quality[rows]) for rows in rng.integers(200, size=(2000, 200))]
        for cell in cells
    ]
    low, high = np.quantile(np.mean(drawn, axis=0), (0.025, 0.975))
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))


def test_a_mean_over_models_has_no_interval_since_they_answered_the_same_questions():
    cells = [make_cell(model, size=120) for model in ("a", "b")]
    found = by_task(rank_collection(collect(cells), "prr", intervals=True), ["a", "b"], name="a", heading="a")
    assert {one.no_interval for one in found.columns[-1].estimates} == {"models answered the same questions"}
    assert all(one.low < one.value for column in found.columns[:-1] for one in column.estimates)


SURE = Spread(0.0, 0.1, 9.0, 9.0, 8.0, Scale(0.0, -1.0, 1.0))


def published_collection():
    """The paper's numbers of its data sets in place of ours, so that means can be compared with those it states."""
    known = {"CNN/DailyMail": "CNN", "WMT14 Fr-En": "WMT14", "WMT19 De-En": "WMT19"}
    cells = []
    for table, model in (("llama", "Llama-3.1 8B"), ("qwen", "Qwen-2.5 7B"), ("falcon", "Falcon-3 10B")):
        frame = paper.published(f"{table}_detailed", model).set_index("method")
        for data in PAPERS:
            estimates = frame[known.get(data, data)].items()
            rankings = {
                method: Ranking(Estimate(value, np.nan, np.nan, 1, 0), np.zeros(0), SURE) for method, value in estimates
            }
            cells.append(RankedCell(make_cell(model, data), rankings, ""))
    return RankedCollection(metric="prr", methods=tuple(cells[0].rankings), cells=tuple(cells), intervals=False)


def test_the_papers_numbers_by_data_set_give_its_numbers_by_task_and_its_marks():
    ranked = published_collection()
    models = ["Llama-3.1 8B", "Qwen-2.5 7B", "Falcon-3 10B"]
    layout = by_task(ranked, models, name="a", heading="a")
    assert [(one.top, one.title) for one in layout.columns[:3]] == [(models[0], task) for task in ("QA", "Summ", "MT")]
    for column in layout.columns[:-1]:
        stated = paper.published("overall_results", column.top).set_index("method")[column.title]
        assert [one.value for one in column.estimates] == pytest.approx(
            stated[list(ranked.methods)].tolist(), abs=0.002
        )
    means = dict(zip(ranked.methods, layout.columns[-1].estimates, strict=True))
    stated = [paper.published("overall_results", model).set_index("method").loc["rauq", "QA":"MT"] for model in models]
    assert means["rauq"].value == pytest.approx(np.mean(stated), abs=0.002)
    assert layout.columns[-1].marks[ranked.methods.index("rauq")] == 1


def test_a_mean_over_data_sets_is_the_papers():
    layout = by_data_set(published_collection(), "Llama-3.1 8B", name="a")
    stated = paper.published("llama_detailed", "Llama-3.1 8B")["Mean"].tolist()
    assert [one.value for one in layout.columns[-1].estimates] == pytest.approx(stated, abs=0.002)
    assert [one.title for one in layout.columns[:3]] == ["XSum", "SamSum", "CNN"]


def test_means_are_over_the_data_sets_that_all_models_share():
    """The paper's Table 15 averages other data sets for small models than for the large one."""
    found = collect(papers_cells())
    ranked = rank_collection(found, "prr")
    models = found.of_class("small_large")
    over = shared(ranked, models)
    assert over.sets["QA"] == ("TruthfulQA", "CoQA", "SciQ", "TriviaQA")
    assert {name for name, _ in over.left_out} == {"MedQUAD", "MMLU", "GSM8k"}
    assert dict(over.left_out)["MMLU"] == "no run of SmolLM-2 360M, Llama-3.2 1B"
    layout = by_task(ranked, models, name="a", heading="a")
    own = {cell.column: cell for cell in found.cells if cell.model == "Llama-3.1 70B"}
    expected = np.mean([prr(own[name].uncertainties["rauq"], own[name].quality) for name in over.sets["QA"]])
    column = next(one for one in layout.columns if (one.top, one.title) == ("Llama-3.1 70B", "QA"))
    assert column.estimates[METHODS.index("rauq")].value == pytest.approx(expected)
    assert any("MMLU (no run of SmolLM-2 360M, Llama-3.2 1B)" in note for note in layout.notes)
    assert any("QA (TruthfulQA, CoQA, SciQ, TriviaQA)" in note for note in layout.notes)


def test_a_task_that_one_model_lacks_is_in_no_mean_over_models():
    cells = [make_cell("a"), make_cell("b"), make_cell("a", "XSum")]
    layout = by_task(rank_collection(collect(cells), "prr"), ["a", "b"], name="a", heading="a")
    assert [(one.top, one.title) for one in layout.columns] == [("a", "QA"), ("a", "Summ"), ("b", "QA"), ("Mean", "")]
    expected = np.mean([prr(cell.uncertainties["msp"], cell.quality) for cell in cells[:2]])
    assert layout.columns[-1].estimates[METHODS.index("msp")].value == pytest.approx(expected)
    assert any("not every model has it: Summ" in note for note in layout.notes)


def test_a_method_that_a_run_lacks_has_no_mean_and_no_mark_and_says_which_run():
    cells = [make_cell(), make_cell(data="CoQA", methods=METHODS[:3], run="the-other")]
    layout = by_task(rank_collection(collect(cells), "prr"), ["model"], name="a", heading="a")
    place = METHODS.index("semantic_entropy")
    for column in layout.columns:
        assert np.isnan(column.estimates[place].value)
        assert column.estimates[place].reason == "not computed in the-other"
        assert column.marks[place] == 0
        assert sorted(column.marks) == [0, 0, 1, 2]
    assert any("not computed in the-other" in note for note in layout.notes)
    assert "not computed in the-other" in layout.frame["undefined"][place]
    assert layout.frame["undefined"][0] == ""


@pytest.mark.parametrize("quality", [np.ones(40), np.full(40, np.nan), np.zeros(0)])
def test_a_run_that_cannot_be_ranked_is_left_out_for_every_model(quality):
    size = len(quality)
    odd = make_cell("a", "CoQA", quality=quality, uncertainties=dict.fromkeys(METHODS, np.arange(float(size))))
    cells = [make_cell("a"), odd, make_cell("b"), make_cell("b", "CoQA")]
    ranked = rank_collection(collect(cells), "prr")
    over = shared(ranked, ["a", "b"])
    assert over.sets == {"QA": ("SciQ",)}
    assert dict(over.left_out)["CoQA"].startswith("a: ")
    layout = by_task(ranked, ["a", "b"], name="a", heading="a")
    assert layout.columns[0].estimates[0].value == pytest.approx(prr(cells[0].uncertainties["rauq"], cells[0].quality))
    alone = by_data_set(ranked, "a", name="a")
    assert [one.words for one in alone.cells[0]][:1] == ["–"]
    assert alone.columns[-1].estimates[0].value == pytest.approx(layout.columns[0].estimates[0].value)


def test_models_that_share_nothing_have_no_mean():
    cells = [make_cell("a", "CoQA"), make_cell("b", "SciQ")]
    layout = by_task(rank_collection(collect(cells), "prr"), ["a", "b"], name="a", heading="a")
    assert [one.top for one in layout.columns] == ["Mean"]
    assert np.isnan([one.value for one in layout.columns[0].estimates]).all()
    assert "no data set" in " ".join(layout.notes)


def test_an_empty_collection_of_methods_is_no_crash():
    cells = (make_cell(methods=()),)
    layout = by_task(rank_collection(Collection(cells=cells), "prr"), ["model"], name="a", heading="a")
    assert layout.rows == ()
