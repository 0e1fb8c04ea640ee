"""Rankings by length, by group and by what is named equal the metrics of those columns, and are said with figures."""

import numpy as np
import pandas as pd
import pytest

from analysis.methods.simple_rankings import simple_rankings, simple_sentence, unnamed_note
from analysis.quality.judgement import Thresholds
from analysis.stats import prr, roc_auc

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
    return simple_rankings(answers, metric=metric, thresholds=THRESHOLDS, resamples=50)


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
