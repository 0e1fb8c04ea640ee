"""The published numbers: whole, consistent with each other, about methods of the table, and always called published."""

from pathlib import Path

import pytest

from analysis.paper import PAPER_ROWS, method_of, published, published_errors, published_runtime, published_tables
from rauq.errors import InvalidInput
from rauq.methods.table import METHODS

TASKS = {
    "QA": ["TruthfulQA", "SciQ", "MMLU", "TriviaQA", "CoQA", "MedQUAD", "GSM8k"],
    "Summ": ["CNN", "SamSum", "XSum"],
    "MT": ["WMT14", "WMT19"],
}
OTHER_ROWS = {"llama_layer_selection"}
FILES = sorted((Path(__file__).parents[2] / "analysis" / "paper_numbers").glob("*.csv"))
ALL = pytest.mark.parametrize("table", published_tables(), ids=lambda one: one.title)


def test_each_number_stands_once_and_no_byte_is_lost():
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(set(lines)) == len(lines)
        assert all(line.isprintable() for line in lines)


@ALL
def test_a_table_is_whole_and_its_mean_is_that_of_its_numbers(table):
    numbers = published(table.table, table.model)
    assert table.title.startswith("Published ")
    assert not numbers.isna().any(axis=None)
    assert "rauq" in numbers["method"].tolist() or table.table.endswith("prob_entropy")
    if "Mean" in numbers:
        assert numbers.columns[-1] == "Mean"
        means = numbers.iloc[:, 2:-1].mean(axis=1)
        assert (means - numbers["Mean"]).abs().max() < 0.003  # rounded to three places, on both sides


@pytest.mark.parametrize(
    ("name", "model"), [("llama", "Llama-3.1 8B"), ("qwen", "Qwen-2.5 7B"), ("falcon", "Falcon-3 10B")]
)
def test_the_tables_by_task_are_the_means_of_those_by_data_set(name, model):
    detailed = published(f"{name}_detailed", model).set_index("method")
    by_task = published("overall_results", model).set_index("method")
    for task, sets in TASKS.items():
        assert (detailed[sets].mean(axis=1) - by_task[task]).abs().max() < 0.002


def test_rows_of_the_paper_are_methods_of_the_table_and_each_of_one():
    assert set(PAPER_ROWS) <= set(METHODS)
    assert len(set(PAPER_ROWS.values())) == len(PAPER_ROWS)


@ALL
def test_every_row_of_a_table_of_methods_has_its_method(table):
    rows = published(table.table, table.model)["method"]
    assert all(rows) == (table.kind == "methods" or table.table not in OTHER_ROWS)
    assert rows[rows != ""].is_unique


def test_numbers_are_those_of_the_paper():
    detailed = published("llama_detailed", "Llama-3.1 8B").set_index("method")
    assert detailed.loc["rauq", "WMT19"] == 0.509
    assert detailed.loc["semantic_entropy", "Mean"] == 0.230
    assert published("overall_results_roc_auc", "Qwen-2.5 7B").set_index("method").loc["sar", "QA"] == 0.708
    runtime = published_runtime().set_index("method")
    assert (runtime.loc["sar", "overhead_percent"], runtime.loc["rauq", "overhead_percent"]) == (820, 0.3)
    assert published_errors().set_index("scores").loc["lowest", "erroneous_percent"] == 50


def test_other_judges_are_not_the_papers():
    assert not [method for method in PAPER_ROWS if method.endswith(("_facts", "_jaccard"))]
    assert method_of("TAD") == "tad"
    assert method_of("RAUQ (LIG)") == "rauq_lig"
    assert method_of("RAUQ", "llama_prob_entropy") == "rauq_probability"


def test_all_methods_are_compared_for_nine_models_and_by_roc_auc_for_four():
    compared = [one for one in published_tables() if one.kind == "methods"]
    assert len({one.model for one in compared}) == 9
    assert len([one for one in compared if one.metric == "roc_auc"]) == 4


@pytest.mark.parametrize(("table", "model"), [("nonsense", "Llama-3.1 8B"), ("qwen_detailed", "Llama-3.1 8B")])
def test_an_unknown_table_raises_with_those_there_are(table, model):
    with pytest.raises(InvalidInput, match=r"has no table .* overall_results of Llama-3\.1 8B"):
        published(table, model)
