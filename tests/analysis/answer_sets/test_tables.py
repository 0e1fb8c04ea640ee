"""Tables say what their results say, row by row."""

import numpy as np
import pandas as pd

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.gaps import head_gaps
from analysis.answer_sets.heads import agreement, pick, selected_heads
from analysis.answer_sets.quality_curves import quality_bins
from analysis.answer_sets.separation import held_out, separation, top_heads
from analysis.answer_sets.sides import sides
from analysis.answer_sets.tables import (
    agreement_table,
    best_and_worst_table,
    calibration_table,
    gap_table,
    quality_bins_table,
    selected_heads_table,
    separation_table,
    strata_table,
    summary_table,
    top_heads_table,
)
from analysis.calibration import calibrate
from analysis.quality.judgement import Thresholds
from tests.analysis.answer_sets.made_up import HEADS, INFORMATIVE, made_up

METHODS = ("rauq", "msp", "perplexity", "mean_token_entropy")


def answers_of(quality, groups):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "group": groups,
            "quality": np.array(quality, dtype=float),
            "num_tokens": 4,
            "rauq": rng.uniform(size=len(quality)),
            "msp": rng.uniform(size=len(quality)),
            "perplexity": np.nan,
            "mean_token_entropy": rng.uniform(size=len(quality)),
        }
    )


def test_every_answer_and_every_failure_is_counted_once():
    answers = answers_of([1, 0, 0.5, np.nan, 1], ["b", "a", "b", "b", "a"])
    table = summary_table(answers, ["b", "c"], Thresholds())
    assert table["group"].tolist() == ["all", "a", "b", "c"]
    counted = table[["correct", "incorrect", "neither", "without quality", "failed"]].to_numpy().tolist()
    assert counted == [[2, 1, 1, 1, 2], [1, 1, 0, 0, 0], [1, 0, 1, 1, 1], [0, 0, 0, 0, 1]]
    assert table["answers"].tolist() == [5, 2, 3, 0]
    np.testing.assert_array_equal(table["mean quality"], [2.5 / 4, 0.5, 0.75, np.nan])


def test_strata_count_what_has_a_quality():
    answers = answers_of([1, 0, 0.6, np.nan, 1, 1], ["a"] * 4 + ["b", "b"])
    answers = answers.assign(stratum=["rare", "rare", "rare", "rare", "rare", ""], msp=[1.0, 5.0, 3.0, 9.0, 2.0, 7.0])
    table = strata_table(answers, Thresholds(roc=0.5))
    assert table[["group", "stratum", "answers"]].to_numpy().tolist() == [["a", "rare", 3], ["b", "rare", 1]]
    np.testing.assert_allclose(table["share correct"], [2 / 3, 1])
    np.testing.assert_allclose(table["mean MSP of correct"], [2, 2])
    np.testing.assert_array_equal(table["of incorrect"], [5, np.nan])
    assert strata_table(answers.assign(stratum=""), Thresholds()).empty


def test_selected_heads_stand_in_the_order_of_their_frequency():
    picks = np.array([[2, 0], [2, 0], [0, -1], [1, -1]])
    table = selected_heads_table(selected_heads(picks, (4, 7), 3), most=2)
    assert table.columns.tolist() == [
        "layer",
        "answers",
        *("top-1 head", "top-1 percent", "top-2 head", "top-2 percent"),
    ]
    assert table.iloc[0].tolist() == [4, 4, 2, 50, 0, 25]
    assert table.iloc[1].tolist()[:4] == [7, 2, 0, 100]
    assert table.iloc[1].isna().tolist() == [False] * 4 + [True] * 2


def test_groups_have_a_column_each():
    table = agreement_table(agreement(np.array([[1], [1], [0]]), ["a", "a", "<b>"], (5,), 2))
    assert table.columns.tolist() == ["layer", "most frequent head", "percent of <b>", "percent of a"]
    assert table.iloc[0].tolist() == [5, 1, 0, 100]


def test_gaps_and_separation_name_absolute_layers():
    means, quality = made_up()
    outcome = sides(quality, Thresholds())
    gaps = head_gaps(means, pick(means), outcome)
    layers = (3, 5, 7, 9)
    table = gap_table(gaps, layers, name="layer")
    assert table["layer"].tolist() == [*layers, *layers]
    mean = table[table["heads"] == "mean over heads"]
    np.testing.assert_array_equal(mean["difference_high"], gaps.mean.absolute.high)
    np.testing.assert_allclose(mean["difference"], mean["mean_correct"] - mean["mean_incorrect"])
    found = separation(means, outcome, ["one"] * len(quality), permutations=10)
    ranked = separation_table(found, layers)
    assert (ranked["layer"][0], ranked["head"][0]) == (layers[INFORMATIVE[0]], INFORMATIVE[1])
    assert len(ranked) == len(layers) * HEADS
    assert (ranked["roc_auc"].sub(0.5).abs().diff().dropna() <= 1e-12).all()
    half = held_out(means, found.labelled, most=3)
    shares = np.full(found.auc.shape, 0.25)
    top = top_heads_table(
        top_heads(means, found, half, same_length=found.labelled, expected=means, residual=means, shares=shares), layers
    )
    assert (top["layer"][0], top["head"][0]) == (layers[INFORMATIVE[0]], INFORMATIVE[1])
    assert sorted(top["held_out"].dropna()) == sorted(half.auc.value)
    np.testing.assert_allclose(top["words"], top["held_out"])
    assert (top["selected_percent"] == 25).all()


def test_figures_two_and_three_b_are_tables_with_their_intervals_and_counts():
    quality = np.array([1.0, 0, 1, 0.5, 0, 1, 0, 0.25])
    answers = answers_of(quality, ["a"] * 8).assign(number=range(8), id="i", answer="an answer", prompt="a prompt")
    attention = np.random.default_rng(0).uniform(size=(8, 3))
    found = best_and_worst(attention, quality, np.zeros(8, dtype=int), k=2)
    table = best_and_worst_table(found, answers)
    assert table["side"].tolist() == ["best", "best", "worst", "worst"]
    assert table["number"].tolist() == found.rows.tolist()
    assert table["quality"].tolist() == [1, 1, 0, 0]
    np.testing.assert_array_equal(table[[f"attention of head {head}" for head in range(3)]], attention[found.rows])
    bins = quality_bins_table(quality_bins(attention[:, 0], quality, bins=2), of="attention")
    assert bins["answers"].sum() == 8
    low = attention[:, 0] <= bins["to"][0]
    assert bins["mean quality"][0] == quality[low].mean()
    many = quality_bins_table(quality_bins(np.tile(attention[:, 0], 9), np.tile(quality, 9), bins=2), of="attention")
    assert (many["mean quality, low"] < many["mean quality"]).all()
    assert (bins["attention from"] <= bins["median"]).all()


def test_a_calibration_is_a_table_of_its_curve():
    rng = np.random.default_rng(0)
    uncertainty = rng.uniform(size=200)
    found = calibrate(uncertainty, (rng.uniform(size=200) > uncertainty).astype(float))
    table = calibration_table(found)
    assert table["uncertainty"].tolist() == sorted(uncertainty)
    assert (table["share correct, low"] <= table["share correct"]).all()
    assert (table["share correct"] <= table["share correct, high"]).all()
    assert set(table["answers"]) == {200}
