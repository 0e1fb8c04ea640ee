"""Rankings by one score, over all answers and within groups, and by length, by group and by what is named."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from analysis.methods.score_ranking import (
    rank_score,
    score_sentence,
    simple_rankings,
    simple_sentence,
    unnamed_note,
    within_sentence,
)
from analysis.methods.tables import ranking_table
from analysis.quality.judgement import Thresholds
from analysis.stats import prr, roc_auc
from tests.analysis.answer_sets.test_tables import METHODS, answers_of

NUM = 40


def opposed():
    """Uncertainty that is right between two groups and wrong within each."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], NUM)
    quality = (rng.random(2 * NUM) < np.where(group == "a", 0.9, 0.1)).astype(float)
    uncertainty = (group == "b") * 10.0 + quality + 0.1 * rng.random(2 * NUM)
    return rank_score(uncertainty, quality, group, thresholds=Thresholds())


def test_the_mean_within_groups_can_have_another_sign_and_is_said():
    found = opposed()
    by_prr = found[0]
    assert by_prr.of_group("all")[0].value > 0.5
    within = by_prr.of_group("mean within groups")[0].value
    assert within < -0.4
    assert score_sentence(found).startswith("Ranking 80 answers by this score: PRR 0.")
    assert within_sentence(found).startswith(f"Mean within groups: PRR −{-within:.2f} [")
    assert "ROC-AUC" in within_sentence(found)


def test_without_groups_there_is_no_mean_within_and_an_undefined_ranking_has_its_reason():
    rng = np.random.default_rng(0)
    one = rank_score(rng.random(9), np.arange(9) % 2.0, ["a"] * 9, thresholds=Thresholds())
    assert within_sentence(one) == ""
    same = rank_score(rng.random(9), np.ones(9), ["a"] * 9, thresholds=Thresholds())
    assert score_sentence(same).startswith("Ranking by this score is undefined: ")


def test_rankings_are_those_of_the_metrics_in_each_group():
    quality = np.random.default_rng(1).uniform(size=60)
    answers = answers_of(quality, ["one", "two"] * 30)
    table = ranking_table(answers, METHODS, Thresholds(roc=0.3))
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
    table = ranking_table(answers_of([1, 1, 1, np.nan], ["a"] * 4), METHODS, Thresholds())
    assert table["group"].tolist() == ["all"] * 3
    assert table[["prr", "roc_auc", "prr_low"]].isna().all(axis=None)
    assert table["excluded"].tolist() == [1] * 3
    assert table["undefined"].str.contains("same quality").all()


THRESHOLDS = Thresholds()
FACTS = ("rauq", "luq_facts")


@pytest.fixture
def answers():
    """Answers in two groups of different quality; those that name nothing are all incorrect."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 30)
    quality = (rng.random(60) < np.where(group == "a", 0.8, 0.3)).astype(float)
    named = np.where(quality == 1, 2, rng.integers(0, 2, 60))
    tokens = rng.integers(2, 30, 60) + 5 * (quality == 0)
    return pd.DataFrame({"group": group, "quality": quality, "num_fact_tokens": named, "num_tokens": tokens})


def ranked(answers, metric="prr"):
    return simple_rankings(answers, metric=metric, thresholds=THRESHOLDS)


@pytest.mark.parametrize(("metric", "of"), [("prr", prr), ("roc_auc", roc_auc)])
def test_each_is_the_metric_of_its_column(answers, metric, of):
    found, quality = ranked(answers, metric), answers["quality"].to_numpy()
    means = answers["quality"].groupby(answers["group"]).transform("mean").to_numpy()
    assert found.length.value == pytest.approx(of(answers["num_tokens"].to_numpy(dtype=float), quality))
    assert found.group.value == pytest.approx(of(-means, quality))
    assert found.unnamed.value == pytest.approx(of((answers["num_fact_tokens"] == 0).to_numpy(dtype=float), quality))
    assert found.share_unnamed == (answers["num_fact_tokens"] == 0).mean()
    assert all(one.low <= one.value <= one.high for one in (found.length, found.group, found.unnamed))
    each = [
        of(part["num_tokens"].to_numpy(dtype=float), part["quality"].to_numpy()) for _, part in answers.groupby("group")
    ]
    assert found.within["length"].value == pytest.approx(np.mean(each))
    assert set(found.within) == {"length", "unnamed"}
    within = f"(mean within groups {found.within['length'].value:.2f} [".replace("-", "−")
    assert within in simple_sentence(found)


def test_the_group_alone_is_left_out_where_there_is_one(answers):
    found = ranked(answers.assign(group=""))
    assert found.group is None
    assert found.within == {}
    assert "group" not in simple_sentence(found)
    assert f"{found.length.value:.2f}" in simple_sentence(found)


def test_answers_that_name_nothing_are_noted_only_beside_methods_that_use_the_judge(answers):
    found = ranked(answers)
    assert f"{100 * found.share_unnamed:.0f} % of the answers name nothing" in unnamed_note(found, FACTS)
    assert unnamed_note(found, ("rauq", "msp")) == ""


@pytest.mark.parametrize("named", [0, 1, "correct"])
def test_nothing_is_noted_where_naming_tells_nothing(answers, named):
    """All or none name something, or a correct answer names nothing."""
    if named == "correct":
        named = np.where(answers["quality"] == 1, 0, answers["num_fact_tokens"])
    found = ranked(answers.assign(num_fact_tokens=named))
    assert found.unnamed is None
    assert unnamed_note(found, FACTS) == ""


def test_answers_without_a_quality_are_left_out(answers):
    quality = answers["quality"].where(answers.index >= 5)
    found = ranked(answers.assign(quality=quality))
    rest = answers[5:]
    assert found.length.n == 55
    expected = prr(rest["num_tokens"].to_numpy(dtype=float), rest["quality"].to_numpy())
    assert found.length.value == pytest.approx(expected)


def test_where_ranking_is_undefined_nothing_is_said(answers):
    assert simple_sentence(ranked(answers.assign(quality=1.0))) == ""
