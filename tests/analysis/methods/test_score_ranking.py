"""One score's ranking: over all answers, and beside it the mean within groups, which may differ in sign."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from analysis.methods.score_ranking import rank_score, score_sentence, within_sentence
from analysis.methods.tables import ranking_table
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from tests.analysis.answer_sets.test_tables import METHODS, answers_of

NUM = 40


def opposed():
    """Uncertainty that is right between two groups and wrong within each."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], NUM)
    quality = (rng.random(2 * NUM) < np.where(group == "a", 0.9, 0.1)).astype(float)
    uncertainty = (group == "b") * 10.0 + quality + 0.1 * rng.random(2 * NUM)
    return rank_score(uncertainty, quality, group, thresholds=Thresholds(), resamples=50)


def test_the_mean_within_groups_can_have_another_sign_and_is_said():
    found = opposed()
    by_prr = found[0]
    assert by_prr.of_group("all")[0].value > 0.5
    within = by_prr.of_group("mean within groups")[0].value
    assert within < -0.5
    assert score_sentence(found).startswith("Ranking 80 answers by this score: PRR 0.")
    assert within_sentence(found).startswith(f"Mean within groups: PRR −{-within:.2f} [")
    assert "ROC-AUC" in within_sentence(found)


def test_without_groups_there_is_no_mean_within_and_an_undefined_ranking_has_its_reason():
    rng = np.random.default_rng(0)
    one = rank_score(rng.random(9), np.arange(9) % 2.0, ["a"] * 9, thresholds=Thresholds(), resamples=10)
    assert within_sentence(one) == ""
    same = rank_score(rng.random(9), np.ones(9), ["a"] * 9, thresholds=Thresholds(), resamples=10)
    assert score_sentence(same).startswith("Ranking by this score is undefined: ")


def test_rankings_are_those_of_the_metrics_in_each_group():
    quality = np.random.default_rng(1).uniform(size=60)
    answers = answers_of(quality, ["one", "two"] * 30)
    table = ranking_table(answers, METHODS, Thresholds(roc=0.3), resamples=50)
    names = ["all", "mean within groups", "one", "two"]
    assert table["group"].tolist() == [name for name in names for _ in range(3)]
    assert table["method"].tolist() == ["RAUQ", "MSP", "Mean Token Entropy"] * 4  # perplexity was not asked for
    within = table[table["group"] == names[1]]["prr"].to_numpy()
    np.testing.assert_allclose(within, np.mean([table["prr"][6:9], table["prr"][9:12]], axis=0))
    row, part = table.iloc[7], answers[answers["group"] == "one"]
    assert row["prr"] == pytest.approx(prr(part["msp"].to_numpy(), part["quality"].to_numpy()))
    assert row["roc_auc"] == pytest.approx(roc_auc_score(part["quality"] <= 0.3, part["msp"]))
    assert row["prr_low"] < row["prr"] < row["prr_high"]


def test_an_undefined_ranking_has_a_reason():
    table = ranking_table(answers_of([1, 1, 1, np.nan], ["a"] * 4), METHODS, Thresholds(), resamples=10)
    assert table["group"].tolist() == ["all"] * 3
    assert table[["prr", "roc_auc", "prr_low"]].isna().all(axis=None)
    assert table["excluded"].tolist() == [1] * 3
    assert table["undefined"].str.contains("same quality").all()
