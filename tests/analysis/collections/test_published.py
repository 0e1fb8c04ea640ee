"""The paper's tables beside a collection's: the difference is here minus published, and no cell is silently empty."""

import re

import numpy as np
import pytest

from analysis import paper
from analysis.collections.ablated import TABLES, ablation_layouts
from analysis.collections.collection import collect, rank_collection
from analysis.collections.layouts import layouts
from analysis.collections.published import (
    NOT_RUN,
    NOT_STATED,
    ablations_beside,
    contradictions_caption,
    published_beside,
)
from analysis.methods.comparison import name_of
from analysis.stats import prr
from tests.analysis.collections.made_cells import PAPERS, make_cell, papers_cells


@pytest.fixture(scope="module")
def found():
    return collect(papers_cells())


@pytest.fixture(scope="module")
def ranked(found):
    return rank_collection(found, "prr")


def row(layout, method):
    return dict(
        zip([one.name for one in layout.columns], layout.cells[layout.rows.index(name_of(method))], strict=True)
    )


def test_each_of_the_papers_tables_of_methods_has_ours_beside_it(found, ranked):
    made = {one.name: one for one in published_beside(found, ranked)}
    assert set(made) == {
        f"published_{name}"
        for name in (
            *("overall_results", "overall_results_small_large", "instruction_results"),
            *("llama_detailed", "qwen_detailed", "gemma_detailed", "falcon_detailed", "attention_score_selected_head"),
            *("llama_supervised_id", "llama_supervised_ood", "llama_lig"),
        )
    }
    tables = {column.top for column in made["published_overall_results"].columns}
    assert tables == {
        *(f"{model} {task}" for model in found.of_class("base") for task in ("QA", "Summ", "MT")),
        "Mean",
    }
    by_roc = published_beside(found, rank_collection(found, "roc_auc"))
    assert [one.name for one in by_roc] == ["published_overall_results_roc_auc"]
    assert "Table 17" in by_roc[0].heading


def test_the_difference_is_here_minus_published(found, ranked):
    beside = next(one for one in published_beside(found, ranked) if one.name == "published_llama_detailed")
    ours = next(one for one in layouts(found, ranked) if "on each data set, Llama-3.1 8B" in one.heading)
    stated = paper.published("llama_detailed", "Llama-3.1 8B").set_index("method")
    for title in ("SciQ", "CNN", "WMT14"):
        here = next(one for one in ours.columns if one.title == title).estimates[ranked.methods.index("rauq")].value
        triple = [one for one in beside.columns if one.top == f"Llama-3.1 8B {title}"]
        place = beside.rows.index("RAUQ")
        values = [one.estimates[place].value for one in triple]
        assert values == pytest.approx([stated.loc["rauq", title], here, here - stated.loc["rauq", title]])


def test_a_difference_is_marked_and_within_rounding_it_is_none():
    exact = make_cell("Llama-3.1 8B", "SciQ")
    ranked = rank_collection(collect([exact]), "prr")
    beside = next(one for one in published_beside(collect([exact]), ranked) if one.name == "published_llama_detailed")
    assert [one.name for one in beside.columns[2:]] == [
        "Llama-3.1 8B SciQ: difference",
        "Mean: published",
        "Mean: here",
    ]
    words = [cells[2].words for cells in beside.cells]
    assert all(re.fullmatch(r"–|[+−]\d\.\d{3} [▲▼]|0\.000 =", one) for one in words)
    assert any("▲" in one or "▼" in one for one in words)
    assert all(("▲" in one) == one.startswith("+") for one in words)


def test_a_cell_without_a_number_says_why(found, ranked):
    made = {one.name: one for one in published_beside(found, ranked)}
    sizes = made["published_overall_results_small_large"]
    assert row(sizes, "sar")["Mean: here"].words == NOT_RUN
    assert row(sizes, "sar")["Mean: published"].words == "0.271"
    assert "Here over fewer of the paper's data sets: QA over 4 of 7." in sizes.notes
    assert not any("fewer" in note for note in made["published_overall_results"].notes)
    instruct = collect([make_cell("x", "SciQ", kind="instruct", methods=("rauq", "focus"))])
    beside = next(one for one in published_beside(instruct, rank_collection(instruct, "prr")))
    assert row(beside, "focus")["Mean: published"].words == NOT_STATED
    supervised = made["published_llama_supervised_id"]
    tad = supervised.cells[supervised.rows.index("TAD")]
    assert [cell.words for cell in tad[:3]] == ["0.550", NOT_RUN, "–"]
    assert any(NOT_STATED in note.lower() for note in beside.notes)


def test_tables_of_ablations_have_the_papers_beside_them():
    cells = {table.id: [make_cell("Llama-3.1 8B", data, methods=_ids(table)) for data in PAPERS] for table in TABLES}
    ours = ablation_layouts({name: collect(several) for name, several in cells.items()}, "prr")
    made = {one.name: one for one in ablations_beside(ours)}
    assert set(made) == {f"published_{label}" for table in TABLES for label in table.published}
    formula = made["published_llama_functions"]
    found = row(formula, "no_attention")
    assert found["Llama-3.1 8B CNN: published"].words == "0.393"
    assert found["Mean: published"].words == "0.330"
    expected = np.mean([prr(cell.uncertainties["no_attention"], cell.quality) for cell in cells["update"]])
    here = next(one for one in formula.columns if one.name == "Mean: here").estimates
    assert here[formula.rows.index(name_of("no_attention"))].value == pytest.approx(expected)
    layers = made["published_llama_layer_selection"]
    alone = layers.cells[layers.rows.index("RAUQ (22nd layer)")]
    assert [cell.words for cell in alone[:3]] == ["0.412", NOT_RUN, "–"]


def _ids(table):
    return [variant.id for variant in table.variants]


def test_the_papers_contradictions_are_those_of_its_numbers():
    caption = contradictions_caption()
    assert len(caption.split()) <= 45
    for text in (".413 (2, 5–8, 21)", ".388 (9)", ".395 (14)", ".452 (2, 5–8, 21)", ".157 (9)", ".189 (14)"):
        assert text in caption
    for text in (".241 (2, 21)", ".249 (5–8)", ".265 (9)", ".317 (14)"):
        assert text in caption


def test_the_published_heads_are_whole():
    heads = paper.published_heads("llama_wmt_heads").set_index("selected")
    assert heads.shape == (3, 13)
    assert heads.loc["Top-1 head", "Layer 12"] == "12 (100.0 %)"
    assert heads.loc["Top-2 head", "Layer 12"] == "–"
    assert paper.published_heads("llama_coqa_heads").set_index("selected").loc["Top-3 head", "Layer 22"] == "18 (2.4 %)"
