"""The paper's tables on a batch: every row is the score of its settings, and what a run cannot have is said."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.methods.ablations import SINGLE_HEAD, ablate, ablations, held_out
from analysis.methods.comparison import groups_of, name_of
from analysis.paper import published_tables
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from rauq.methods.table import METHODS
from rauq.scoring.score import score_many
from tests.analysis.methods.batches import NUM_LAYERS, informative_batch

NAMES = ["a", "b"] * 15 + ["b", "a"] * 15
LAYERS = tuple(range(NUM_LAYERS))
TABLES = ablations(LAYERS)
BATCH, QUALITY = informative_batch(60, strength=0.2)


def ablated(table, batch=BATCH, *, layers=LAYERS):
    return ablate(
        table,
        batch,
        QUALITY,
        NAMES,
        groups_of(NAMES),
        layers=layers,
        metric="prr",
        thresholds=Thresholds(),
    )


def test_every_ablation_of_the_table_of_methods_has_its_place():
    placed = {variant.id for table in TABLES for variant in table.variants}
    of_runs = {row.id for row in METHODS.values() if row.family == "ablation" and "attribution" not in row.needs}
    assert of_runs <= placed
    assert {f"layer_{layer}" for layer in LAYERS} <= placed


def test_the_published_tables_are_the_papers():
    assert {name for table in TABLES for name in table.published} <= {one.table for one in published_tables()}


@pytest.mark.parametrize("table", [one for one in TABLES if one.id != SINGLE_HEAD], ids=lambda table: table.id)
@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_row_is_the_score_of_its_settings(table, alignment):
    batch = replace(BATCH, alignment=alignment)
    found = ablated(table, batch)
    assert found.comparison.methods == tuple(variant.id for variant in table.variants)
    assert (found.missing, found.chosen_on) == ((), 0)
    for variant, row in zip(table.variants, found.comparison.estimates, strict=True):
        uncertainty = score_many(batch, replace(variant.settings, alignment=alignment)).uncertainty
        for group in groups_of(NAMES):
            one = row[found.comparison.groups.index(group.name)]
            expected = prr(uncertainty[group.rows], QUALITY[group.rows])
            assert one.value == pytest.approx(expected, nan_ok=True), name_of(variant.id)


def test_a_single_head_is_judged_on_the_answers_that_did_not_choose_it_and_so_is_rauq_beside_it():
    table = next(one for one in TABLES if one.id == SINGLE_HEAD)
    found = ablated(table)
    rest = ~held_out(NAMES)
    assert found.chosen_on == (~rest).sum() == 20
    for group in groups_of(NAMES):
        row, rows = found.comparison.of_group(group.name), group.rows[rest[group.rows]]
        assert {one.n for one in row} == {len(rows)}
        uncertainty = score_many(BATCH).uncertainty
        own = row[found.comparison.methods.index("rauq")]
        assert own.value == pytest.approx(prr(uncertainty[rows], QUALITY[rows]))


def test_rows_whose_layers_are_not_kept_are_missing_not_computed_from_others():
    kept = (2, 3, 4)
    batch = replace(BATCH, attention=BATCH.attention[:, 2:5], layers=kept)
    table = next(one for one in TABLES if one.id == "layers")
    found = ablated(table, batch)
    assert set(found.missing) == {"layer_0", "layer_1", "layer_5", "all_layers", "middle_five"}
    assert set(found.comparison.methods) == {"layer_2", "layer_3", "layer_4", "rauq"}
    whole = ablated(table)
    for method, row in zip(found.comparison.methods, found.comparison.estimates, strict=True):
        at = whole.comparison.methods.index(method)
        np.testing.assert_allclose(
            [one.value for one in row], [one.value for one in whole.comparison.estimates[at]], rtol=1e-9
        )


def test_layers_without_attention_are_not_missing():
    """A hybrid model has attention in some layers alone: all of them are all."""
    kept = (2, 4)
    batch = replace(BATCH, attention=BATCH.attention[:, [2, 4]], layers=kept)
    table = next(one for one in ablations(kept) if one.id == "layers")
    assert ablated(table, batch, layers=kept).missing == ()
