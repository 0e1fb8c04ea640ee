"""Ablations over runs: the numbers of each run's own report, and never two runs' attention in memory."""

import gc
import weakref

import numpy as np
import pytest

from analysis.collections.ablated import TABLES, ablated, ablation_layout, ablation_layouts
from analysis.collections.collection import cell_of, collect
from analysis.methods.ablations import SINGLE_HEAD, ablate, ablations
from analysis.methods.comparison import groups_of, name_of
from analysis.runs.attention import batch
from analysis.runs.opened import open_run
from rauq.errors import RunError
from rauq.methods.table import METHODS
from tests.analysis.collections.made_cells import make_run

MODELS, SETS = ("a", "b"), ("SciQ", "CoQA")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    return [
        make_run(root, model, data, quality=rng.choice([0.0, 0.5, 1.0], 24).tolist())
        for model in MODELS
        for data in SETS
    ]


@pytest.fixture(scope="module")
def found(folders):
    return collect(cell_of(open_run(folder)) for folder in folders)


def test_every_cell_is_the_ablation_of_its_run(found):
    scored = ablated(found)
    assert list(scored) == [table.id for table in TABLES]
    for place, cell in enumerate(found.cells):
        run = open_run(cell.folder)
        quality, names = run.answers["quality"].to_numpy(float), run.answers["group"].tolist()
        for table in ablations(run.answerer.layers):
            alone = ablate(
                table,
                batch(run),
                quality,
                names,
                groups_of(names),
                layers=run.answerer.layers,
                metric="prr",
                thresholds=cell.thresholds,
            ).comparison
            expected = {
                name_of(method): one.value
                for method, one in zip(alone.methods, alone.of_group("all"), strict=True)
                if method in METHODS
            }
            own = next(one for one in TABLES if one.id == table.id)
            layout = ablation_layout(own, collect([scored[table.id].cells[place]]), "prr")
            ours = dict(zip(layout.rows, [one.value for one in layout.columns[0].estimates], strict=True))
            assert {name: ours[name] for name in expected} == pytest.approx(expected, nan_ok=True)
            assert all(np.isnan(value) for name, value in ours.items() if name not in expected)


def test_answers_that_heads_were_chosen_on_count_in_no_row_of_that_table(found):
    scored = ablated(found)
    for cell, whole in zip(scored[SINGLE_HEAD].cells, found.cells, strict=True):
        left_out = np.isnan(cell.quality) & ~np.isnan(whole.quality)
        assert left_out.sum() == np.isnan(cell.uncertainties["single_head"]).sum() > 0
    assert all(
        np.array_equal(cell.quality, whole.quality)
        for cell, whole in zip(scored["update"].cells, found.cells, strict=True)
    )


def test_one_runs_attention_is_in_memory_at_a_time(found):
    alive, most, told = weakref.WeakSet(), [], []

    def opened(folder):
        gc.collect()
        most.append(len(alive))
        run = open_run(folder)
        alive.add(run)
        return run

    ablated(found, opened=opened, on_run=told.append)
    assert most == [0] * len(found.cells)
    assert told == list(found.cells)


def test_two_models_are_averaged_by_task_and_one_by_data_set(found):
    both = ablation_layouts(ablated(found), "prr")
    assert [one.name for one in both["update"].columns] == ["a: QA", "b: QA", "Mean"]
    first = collect(cell for cell in found.cells if cell.model == "a")
    alone = ablation_layouts(ablated(first), "prr")
    assert [one.title for one in alone["update"].columns] == ["CoQA", "SciQ", ""]


def test_a_run_that_changed_meanwhile_is_an_error(found, tmp_path):
    shorter = make_run(tmp_path, "a", "SciQ", quality=(0.0, 1.0, 1.0))
    with pytest.raises(RunError, match="has changed since it was opened"):
        ablated(found, opened=lambda _folder: open_run(shorter))
