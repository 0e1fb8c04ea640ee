"""The control detects whether attention separates correct from incorrect answers."""

import numpy as np
import pytest

from analysis.methods.attention_permutation import EXCHANGES, NO_FACTS, control_groups, control_of_groups
from analysis.methods.comparison import WITHIN, groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from rauq.scoring.settings import Settings
from tests.analysis.methods.batches import LENGTH, informative_batch

NAMES = ["a", "b"] * 30 + ["b", "a"] * 30
GROUPS = groups_of(NAMES)


def controls(strength, *, metric="prr", facts=None, seed=0):
    batch, quality = informative_batch(len(NAMES), strength=strength, seed=seed)
    return control_groups(
        batch, quality, NAMES, GROUPS, metric=metric, thresholds=Thresholds(), facts=facts, resamples=100
    )


@pytest.mark.parametrize("metric", ["prr", "roc_auc"])
def test_informative_attention_is_detected(metric):
    for found in controls(0.4, metric=metric):
        assert found.under("shuffled").difference.low > 0
        assert found.under("constant").difference.low > 0
        assert found.under("random head").difference.low > 0
        assert found.real.value > 0.6


def test_uninformative_attention_is_not_detected():
    whole = [controls(0.0, seed=seed)[0].under("shuffled").difference for seed in range(3)]
    assert all(one.low <= 0 <= one.high for one in whole)
    assert abs(np.mean([one.value for one in whole])) < 0.1


def test_misleading_attention_is_reported():
    assert controls(-0.3)[0].under("shuffled").difference.high < 0


def test_values_are_those_of_the_exchanged_scores():
    batch, quality = informative_batch(len(NAMES), strength=0.1)
    scores = control_of_groups(batch, Settings(), NAMES)
    by_name = {one.group: one for one in controls(0.1)}
    assert list(by_name) == ["all", WITHIN, "a", "b"]
    for group in GROUPS:
        found = by_name[group.name]
        rows, own = group.rows, quality[group.rows]
        real = prr(scores.real[rows], own)
        expected = {
            "shuffled": np.mean([prr(one[rows], own) for one in scores.shuffled]),
            "constant": prr(scores.constant[rows], own),
            "random head": prr(scores.random_head[rows], own),
            "mean of heads": prr(scores.mean_of_heads[rows], own),
        }
        assert found.real.value == pytest.approx(real)
        assert set(expected) == set(EXCHANGES) - {"none"} == {one.exchange for one in found.exchanged}
        for exchange, value in expected.items():
            one = found.under(exchange)
            assert one.estimate.value == pytest.approx(value)
            assert one.difference.value == pytest.approx(real - value)
            assert one.difference.low <= one.difference.value <= one.difference.high
            assert one.difference.n == len(rows)


def test_the_mean_within_groups_is_that_of_every_difference():
    _, mean, *own = controls(0.1)
    for exchange in ("shuffled", "constant", "random head", "mean of heads"):
        for part in ("estimate", "difference"):
            values = [getattr(one.under(exchange), part).value for one in own]
            assert getattr(mean.under(exchange), part).value == pytest.approx(np.mean(values))


def test_a_group_without_fact_tokens_is_left_out_of_the_mean():
    facts = np.zeros((len(NAMES), LENGTH), dtype=bool)
    facts[np.array(NAMES) == "a", 2:4] = True
    _, mean, own, without = controls(0.4, facts=facts)
    assert without.real.reason == NO_FACTS
    assert (mean.real.value, mean.real.n, mean.real.excluded) == (own.real.value, 60, 60)


def test_the_same_resamples_serve_both_sides():
    """Where an exchange changes no uncertainty, no resample tells a difference."""
    batch, quality = informative_batch(40, strength=0.2)
    (found,) = control_groups(
        batch,
        quality,
        ["a"] * 40,
        groups_of(["a"] * 40),
        metric="prr",
        thresholds=Thresholds(),
        settings=Settings(alpha=1.0, signal="probability"),
        resamples=50,
    )
    for one in found.exchanged:
        assert (one.difference.low, one.difference.value, one.difference.high) == pytest.approx((0, 0, 0), abs=1e-9)


def test_answers_without_a_token_of_the_fact_are_left_out_and_counted():
    facts = np.zeros((len(NAMES), LENGTH), dtype=bool)
    facts[10:, 2:4] = True
    found = controls(0.4, facts=facts)[0]
    assert (found.tokens, found.real.n, found.real.excluded) == ("fact", len(NAMES) - 10, 10)
    assert found.under("shuffled").difference.low > 0


def test_without_fact_tokens_the_control_is_undefined_with_a_reason():
    for found in controls(0.4, facts=np.zeros((len(NAMES), LENGTH), dtype=bool)):
        everything = [found.real, *(one.difference for one in found.exchanged)]
        assert all(np.isnan(one.value) and one.reason == NO_FACTS for one in everything)


def test_a_single_answer_of_a_group_has_no_exchange():
    batch, quality = informative_batch(9, strength=0.4)
    names = ["lonely"] + ["many"] * 8
    found = control_groups(batch, quality, names, groups_of(names), metric="prr", thresholds=Thresholds(), resamples=20)
    by_name = {one.group: one for one in found}
    assert by_name["lonely"].under("shuffled").difference.reason
    assert by_name["all"].real.n == 9
    assert by_name["all"].under("shuffled").difference.n == 8
