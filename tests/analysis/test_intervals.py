"""Intervals of metrics: what each answer adds is what leaving it out changes, and questions, not answers, count."""

import math

import numpy as np
import pytest

from analysis.influence import prr_influence
from analysis.intervals import (
    LEAST,
    Answers,
    ends,
    estimate,
    influence_of,
    mean_estimate,
    mean_spread,
    rarer_side,
    scale_of,
    spread_of,
    too_few,
)
from analysis.stats import average_precision, in_words, pearson, prr, roc_auc, sign_of, spearman
from benchmarks.coverage.rankings import Population, counted, ranked

ALL = (prr, roc_auc, average_precision, spearman, pearson)
METRICS = pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.__name__)


def answers(size=150, seed=0, *, ties=False):
    rng = np.random.default_rng(seed)
    uncertainty = rng.normal(size=size)
    correct = (uncertainty + rng.normal(size=size) < 0).astype(float)
    return np.round(2 * uncertainty) if ties else uncertainty, correct


@METRICS
@pytest.mark.parametrize("ties", [False, True])
def test_what_an_answer_adds_is_what_leaving_it_out_changes(metric, ties):
    uncertainty, correct = answers(300, ties=ties)
    left_out = np.array([metric(np.delete(uncertainty, one), np.delete(correct, one)) for one in range(300)])
    jackknife = 299 / 300 * (left_out.mean() - left_out)
    got = influence_of(metric, uncertainty, correct)
    assert got.sum() == pytest.approx(0, abs=1e-12)
    assert np.corrcoef(got, jackknife)[0, 1] > 0.99
    assert math.sqrt(got @ got) == pytest.approx(math.sqrt(jackknife @ jackknife), rel=0.03)


def test_graded_quality_with_ties_is_ranked_as_well():
    uncertainty, _ = answers(300, ties=True)
    quality = np.round(4 * np.random.default_rng(1).random(300)) - uncertainty / 9
    left_out = np.array([prr(np.delete(uncertainty, one), np.delete(quality, one)) for one in range(300)])
    got = prr_influence(uncertainty, quality)
    assert math.sqrt(got @ got) == pytest.approx(299 / 300 * left_out.std() * math.sqrt(300), rel=0.03)


@METRICS
def test_the_interval_holds_the_value_and_narrows_with_the_answers(metric):
    few, many = (estimate(metric, *answers(size)) for size in (60, 1500))
    assert few.low < few.value < few.high
    assert many.high - many.low < (few.high - few.low) / 3
    assert (few.value, few.n, few.excluded, few.reason, few.no_interval) == (metric(*answers(60)), 60, 0, "", "")


@METRICS
def test_undefined_answers_are_counted_and_change_nothing_else(metric):
    uncertainty, correct = answers()
    added = estimate(metric, np.append(uncertainty, [np.nan, 1]), np.append(correct, [1, np.nan]))
    plain = estimate(metric, uncertainty, correct)
    assert (added.excluded, added.n, added.value, added.low, added.high) == (2, 150, plain.value, plain.low, plain.high)


@METRICS
def test_questions_asked_three_times_widen_the_interval_as_a_third_of_the_answers(metric):
    uncertainty, correct = answers(400)
    once = estimate(metric, uncertainty, correct)
    again = np.repeat(np.arange(400), 3)
    thrice = estimate(metric, uncertainty[again], correct[again], clusters=again)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.02)
    alone = estimate(metric, uncertainty[again], correct[again])
    assert alone.high - alone.low < 0.65 * (once.high - once.low)


@METRICS
def test_the_order_of_answers_and_the_numbers_of_questions_do_not_count(metric):
    uncertainty, correct = answers(120)
    clusters = np.arange(120) // 2
    order = np.random.default_rng(2).permutation(120)
    first = estimate(metric, uncertainty, correct, clusters=clusters)
    second = estimate(metric, uncertainty[order], correct[order], clusters=1000 - 7 * clusters[order])
    assert (second.value, second.low, second.high) == pytest.approx((first.value, first.low, first.high))


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
@pytest.mark.parametrize("metric", [prr, roc_auc, spearman], ids=lambda metric: metric.__name__)
def test_undefined_is_nan_with_the_reason(metric, uncertainty, quality, reason):
    got = estimate(metric, np.array(uncertainty, dtype=float), np.array(quality, dtype=float))
    assert all(math.isnan(number) for number in (got.value, got.low, got.high))
    assert reason in got.reason


def test_each_metric_has_its_own_way_to_be_undefined():
    assert "only 3 answers" in estimate(prr, np.arange(3), np.array([0, 1, 0])).reason
    assert "same uncertainty, 7" in estimate(spearman, np.full(4, 7), np.array([0, 1, 0, 1])).reason
    assert estimate(roc_auc, np.full(4, 7), np.array([0, 1, 0, 1])).value == 0.5


def test_a_perfect_ranking_of_eight_answers_has_no_interval_and_one_of_ten_is_not_certain():
    found = estimate(prr, np.arange(8.0), np.array([1.0] * 7 + [0.0]))
    assert (found.value, sign_of(found)) == (1, 0)
    assert in_words(found) == "1.00 (no interval: 1 incorrect answer is too few)"
    perfect = estimate(prr, np.arange(10.0), np.array([1.0] * LEAST + [0.0] * LEAST))
    assert perfect.low < 0.9
    assert perfect.high == 1


@pytest.mark.parametrize(
    ("truth", "cluster", "words"),
    [
        ([1] * 9 + [0] * 4, range(13), "4 incorrect answers are too few"),
        ([0] * 9 + [1], range(10), "1 correct answer is too few"),
        ([0] * 9 + [1] * 6, [*range(9), 9, 9, 9, 8, 8, 8], "6 correct answers to 2 questions are too few"),
        ([0.2] * 9 + [0.9] * 2, range(11), "2 better answers are too few"),
        ([0.1, 0.2, 0.1, 0.15, 9], range(5), "a few answers carry most of the variance of quality"),
    ],
)
def test_why_there_is_no_interval(truth, cluster, words):
    of = Answers(np.array(truth, dtype=float), np.array(list(cluster)))
    assert too_few(of) == words
    assert rarer_side(of) < LEAST


def test_the_rarer_kind_of_graded_quality_is_that_of_binary_quality_of_equal_variance():
    binary = Answers(np.repeat([0.0, 1.0], [80, 20]), np.arange(100))
    nearly = Answers(binary.truth + 1e-9 * np.arange(100), binary.cluster)
    assert rarer_side(binary) == 20
    assert rarer_side(nearly) == pytest.approx(20, rel=1e-4)
    even = Answers(np.linspace(0, 1, 100), np.arange(100))
    assert rarer_side(even) == pytest.approx(25, rel=0.03)


def test_the_mean_of_alike_values_is_as_sure_as_all_of_their_answers():
    uncertainty, correct = answers(200)
    of = Answers(correct, np.arange(200))
    one = spread_of(prr(uncertainty, correct), influence_of(prr, uncertainty, correct), of, scale_of(prr, correct))
    four = mean_spread([one] * 4)
    assert four.error == pytest.approx(one.error / 2)
    assert (four.rarer, four.freedom) == pytest.approx((4 * one.rarer, 4 * one.freedom))
    assert ends(0.5, four)[0] > ends(0.5, one)[0]


def test_the_mean_of_answers_has_the_interval_of_its_questions():
    values = np.random.default_rng(0).random(300)
    scale = scale_of(roc_auc, values)
    plain = mean_estimate(values, np.arange(300), scale=scale)
    assert plain.high - plain.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(300), rel=0.05)
    few = mean_estimate(values[:4], np.arange(4), scale=scale)
    assert few.no_interval == "4 questions are too few"
    assert mean_estimate(np.full(3, np.nan), np.arange(3), scale=scale).reason == "no answer has a value"


CASES = (
    *((metric, size, share, 1) for metric in (prr, roc_auc) for size, share in ((30, 0.5), (100, 0.05), (100, 0.2))),
    *((metric, 180, 0.5, 3) for metric in (prr, roc_auc)),
)


@pytest.mark.parametrize(("metric", "size", "share", "times"), CASES)
def test_what_is_shown_covers(metric, size, share, times):
    """Of 300 simulations: a true coverage of .93 passes in 99 of 100 cases, one of .8 never."""
    of = Population(correct=share, times=times)
    found = counted(ranked(metric, of, size), simulations=300, seed=3)
    assert found.shown >= 90
    assert found.covered >= 0.89 * found.shown
