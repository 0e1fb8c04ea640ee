"""The share of correct answers at a score: it falls with uncertainty, has a band, and says where it is undefined."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from analysis.answer_sets.calibration import LEAST, calibrate, share_at
from analysis.stats import percentile_of
from rauq.errors import InvalidInput


def chance(uncertainty):
    return 1 / (1 + np.exp(uncertainty))


def answers(size=400, seed=0):
    rng = np.random.default_rng(seed)
    uncertainty = rng.normal(size=size)
    return uncertainty, (rng.random(size) < chance(uncertainty)).astype(float)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=LEAST, max_size=50))
def test_the_share_is_the_isotonic_regression_and_never_rises(rows):
    uncertainty, correct = np.array(rows, dtype=float).T
    got = calibrate(uncertainty, correct, count=20)
    if len(set(correct)) < 2:
        assert got.reason.startswith(f"all {len(rows)} answers are {'correct' if correct[0] else 'incorrect'}")
        return
    wanted = IsotonicRegression(increasing=False).fit(uncertainty, correct).predict(got.scores)
    np.testing.assert_allclose(got.share, wanted, atol=1e-12)
    for line in (got.share, got.low, got.high):
        assert (np.diff(line) <= 1e-12).all()
        assert ((line >= 0) & (line <= 1)).all()
    assert (got.low <= got.high).all()


def test_the_band_covers_the_truth_and_narrows_with_more_answers():
    few, many = calibrate(*answers(200)), calibrate(*answers(5000))
    middle = slice(len(many.scores) // 10, -len(many.scores) // 10)
    covered = (many.low <= chance(many.scores)) & (chance(many.scores) <= many.high)
    assert covered[middle].mean() > 0.8
    assert np.median(many.high - many.low) < np.median(few.high - few.low) / 1.5


def test_it_is_seeded_and_counts_what_it_leaves_out():
    uncertainty, correct = answers()
    plain, added = (
        calibrate(uncertainty, correct, seed=5, count=50),
        calibrate(np.append(uncertainty, [np.nan, 0]), np.append(correct, [1, np.nan]), seed=5, count=50),
    )
    assert (plain.n, plain.excluded, added.n, added.excluded) == (400, 0, 400, 2)
    np.testing.assert_array_equal(plain.low, added.low)
    assert not np.array_equal(plain.low, calibrate(uncertainty, correct, seed=6, count=50).low)


def test_too_few_answers_have_no_share():
    got = calibrate(np.arange(LEAST - 1), np.arange(LEAST - 1) % 2)
    assert got.reason == f"only {LEAST - 1} answers have a score and a known quality; at least {LEAST} are needed"
    assert all(math.isnan(number) for number in share_at(got, 1.0))


def test_a_score_is_read_between_and_beyond_those_that_occur():
    uncertainty = np.repeat([0.0, 1.0, 2.0, np.inf], 10)
    correct = np.concatenate([np.ones(10), np.arange(10) < 8, np.arange(10) < 3, np.zeros(10)])
    fitted = calibrate(uncertainty, correct)
    at = {score: share_at(fitted, score)[0] for score in (-np.inf, 0.0, 1.0, 1.9, 2.0, 99.0, np.inf)}
    assert at == pytest.approx({-np.inf: 1, 0.0: 1, 1.0: 0.8, 1.9: 0.8, 2.0: 0.3, 99.0: 0.3, np.inf: 0})
    share, low, high = share_at(fitted, 1.0)
    assert low < share < high
    assert all(math.isnan(number) for number in share_at(fitted, math.nan))


def test_a_quality_between_is_refused():
    with pytest.raises(InvalidInput, match="Apply a threshold"):
        calibrate(np.arange(30), np.linspace(0, 1, 30))


def test_the_percentile_counts_the_less_uncertain_and_half_of_the_equal():
    uncertainties = np.array([1.0, 2.0, 2.0, 3.0, np.nan])
    assert [percentile_of(uncertainties, score) for score in (0, 1, 2, 2.5, np.inf)] == [0, 12.5, 50, 75, 100]
    assert math.isnan(percentile_of(uncertainties, math.nan))
    assert math.isnan(percentile_of(np.array([np.nan]), 1))


def test_two_thousand_answers_take_less_than_a_second():
    calibrate(*answers(100))  # loads the library
    started = time.process_time()
    calibrate(*answers(2000))
    assert time.process_time() - started < 1
