"""A metric with its interval: seeded, honest about what was left out, and with a reason wherever it is undefined."""

import math
import time

import numpy as np
import pytest

from analysis.stats import bootstrap, estimate, interval, prr, resamples, roc_auc, spearman

METRICS = pytest.mark.parametrize("metric", [prr, roc_auc, spearman], ids=lambda metric: metric.__name__)


def answers(size=150, seed=0):
    rng = np.random.default_rng(seed)
    uncertainty = rng.normal(size=size)
    return uncertainty, (uncertainty + rng.normal(size=size) < 0).astype(float)


@METRICS
def test_the_interval_holds_the_value_and_depends_on_the_seed_alone(metric):
    first, second, other = (estimate(metric, *answers(), seed=seed, count=200) for seed in (3, 3, 4))
    assert first == second != other
    assert first.low < first.value < first.high
    assert (first.value, first.n, first.excluded, first.reason) == (metric(*answers()), 150, 0, "")


@METRICS
def test_the_interval_is_that_of_the_metric_on_each_resample(metric):
    got = estimate(metric, *answers(), seed=3, count=50)
    each = bootstrap(metric, *answers(), resamples(150, count=50, seed=3))
    assert (got.low, got.high) == pytest.approx(interval(each))


@METRICS
def test_more_answers_and_a_lower_level_give_a_narrower_interval(metric):
    few, many = (estimate(metric, *answers(size), count=200) for size in (60, 1500))
    lower = estimate(metric, *answers(60), count=200, level=0.5)
    assert many.high - many.low < few.high - few.low
    assert lower.high - lower.low < few.high - few.low


@METRICS
def test_undefined_answers_are_counted_and_change_nothing_else(metric):
    uncertainty, correct = answers()
    added = estimate(metric, np.append(uncertainty, [np.nan, 1]), np.append(correct, [1, np.nan]), count=100)
    plain = estimate(metric, uncertainty, correct, count=100)
    assert (added.excluded, added.n, added.value, added.low, added.high) == (2, 150, plain.value, plain.low, plain.high)


@METRICS
@pytest.mark.parametrize(
    ("uncertainty", "quality", "reason"),
    [
        ([], [], "no answers with both"),
        ([np.nan, 1], [1, np.nan], "no answers with both"),
        ([1], [1], "1 answer with both"),
        ([1, 2, 3, 4, 5], [1] * 5, "all 5 answers have the same quality, 1"),
        ([np.nan, 2, 3, 4, 5], [1, 0, 0, 0, 0], "all 4 answers have the same quality, 0"),
    ],
)
def test_undefined_is_nan_with_the_reason(metric, uncertainty, quality, reason):
    got = estimate(metric, np.array(uncertainty, dtype=float), np.array(quality, dtype=float))
    assert all(math.isnan(number) for number in (got.value, got.low, got.high))
    assert reason in got.reason


def test_each_metric_has_its_own_way_to_be_undefined():
    assert "only 3 answers" in estimate(prr, np.arange(3), np.array([0, 1, 0])).reason
    assert "same uncertainty, 7" in estimate(spearman, np.full(4, 7), np.array([0, 1, 0, 1])).reason
    assert estimate(roc_auc, np.full(4, 7), np.array([0, 1, 0, 1]), count=50).value == 0.5


def test_two_thousand_answers_take_well_under_two_seconds():
    started = time.process_time()
    estimate(prr, *answers(2000))
    assert time.process_time() - started < 1.5
