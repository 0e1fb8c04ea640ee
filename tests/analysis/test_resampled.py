"""Metrics of many resamples at once: those of each resample by itself, ties and undefined ones included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import bootstrap, bounds_of, counts_of, prr, resampled_prr, resampled_roc_auc, resamples, roc_auc
from rauq.errors import InvalidInput

numbers = st.integers(-3, 3).map(float) | st.sampled_from([np.nan, np.inf, 0.125])


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=14), st.integers(0, 99), st.sampled_from([0.5, 1.0]))
def test_each_resample_has_the_prr_of_its_answers(answers, seed, share):
    uncertainty, quality = np.array(answers).T
    drawn = resamples(len(quality), count=12, seed=seed)
    got = resampled_prr(uncertainty, quality, counts_of(drawn), max_rejection=share)
    alone = [prr(uncertainty[chosen], quality[chosen], max_rejection=share) for chosen in drawn]
    np.testing.assert_allclose(got, alone, rtol=1e-9, atol=1e-9)


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, st.sampled_from([0, 1, np.nan])), min_size=1, max_size=14), st.integers(0, 99))
def test_each_resample_has_the_roc_auc_of_its_answers(answers, seed):
    uncertainty, correct = np.array(answers, dtype=float).T
    drawn = resamples(len(correct), count=12, seed=seed)
    got = resampled_roc_auc(uncertainty, correct, counts_of(drawn))
    np.testing.assert_allclose(got, bootstrap(roc_auc, uncertainty, correct, drawn), rtol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_many_resamples_of_many_answers_are_those_of_each(ties):
    rng = np.random.default_rng(0)
    uncertainty, quality = rng.normal(size=(2, 300))
    uncertainty = np.round(uncertainty) if ties else uncertainty
    drawn = resamples(300, count=230, seed=1)  # more than a block, and not a multiple of one
    counts = counts_of(drawn)
    got = resampled_prr(uncertainty, quality, counts)
    np.testing.assert_allclose(got[::10], bootstrap(prr, uncertainty, quality, drawn[::10]), rtol=1e-9)
    np.testing.assert_array_equal(got, resampled_prr(uncertainty, quality, counts, bounds=bounds_of(quality, counts)))


def test_bounds_of_all_answers_do_not_serve_where_one_is_left_out():
    rng = np.random.default_rng(0)
    uncertainty, quality = rng.normal(size=(2, 20))
    uncertainty[0] = np.nan
    counts = counts_of(resamples(20, count=50))
    got = resampled_prr(uncertainty, quality, counts, bounds=bounds_of(quality, counts))
    np.testing.assert_array_equal(got, resampled_prr(uncertainty, quality, counts))


def test_a_resample_is_how_often_it_draws_each_answer():
    np.testing.assert_array_equal(counts_of(np.array([[0, 0, 2], [1, 2, 2]])), [[2, 0], [0, 1], [1, 2]])


def test_a_quality_between_0_and_1_is_refused_by_roc_auc():
    with pytest.raises(InvalidInput, match=r"got 0\.5"):
        resampled_roc_auc(np.arange(2), np.array([0.5, 1]), np.ones((2, 3), dtype=int))
