"""Bins hold every answer once, and correlations are scipy's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.answer_sets.quality_curves import correlations, quality_bins
from analysis.stats import percentile_of
from rauq.errors import InvalidInput


def test_by_hand():
    found = quality_bins(np.array([0.4, 0.1, 0.2, 0.3, np.nan, 0.9]), np.array([1, 0, 0, 1, 1, np.nan]), bins=2)
    assert found.rows.tolist() == [0, 1, 2, 3]
    assert found.count.tolist() == [2, 2]
    assert found.low.tolist() == [0.1, 0.3]
    assert found.high.tolist() == [0.2, 0.4]
    np.testing.assert_allclose(found.middle, [0.15, 0.35])
    assert found.quality_means.value.tolist() == [0, 1]
    assert np.isnan(found.quality_means.low).all()  # one quality in each bin: no interval, rather than one of no width
    assert found.excluded == 2


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 12))
def test_every_answer_is_in_one_bin_and_equal_ones_share_it(values, bins):
    values = np.array(values) / 6
    found = quality_bins(values, np.arange(len(values)) % 2, bins=bins)
    assert found.count.sum() == len(values)
    assert (found.count > 0).all()
    assert len(found.count) <= bins
    assert (found.high[:-1] < found.low[1:]).all()
    total = (found.count * found.quality_means.value).sum()
    assert total == pytest.approx((np.arange(len(values)) % 2).sum())


def test_bins_of_different_values_are_of_equal_size():
    values = np.random.default_rng(0).permutation(200) / 200
    assert quality_bins(values, values, bins=10).count.tolist() == [20] * 10


def test_the_interval_of_a_bin_is_that_of_a_mean():
    rng = np.random.default_rng(0)
    quality = rng.uniform(0, 1, 400)
    found = quality_bins(np.zeros(400), quality)
    half = 1.96 * quality.std() / 20
    assert found.quality_means.low[0] == pytest.approx(quality.mean() - half, abs=0.1 * half)
    assert found.quality_means.high[0] == pytest.approx(quality.mean() + half, abs=0.1 * half)


@pytest.mark.parametrize("binary", [False, True])
def test_correlations_are_scipys(binary):
    rng = np.random.default_rng(4)
    values = np.round(rng.uniform(0, 1, 150), 1)  # with ties
    quality = values + rng.normal(0, 0.5, 150)
    quality = (quality > 0.5).astype(float) if binary else quality
    found = correlations(np.append(values, np.nan), np.append(quality, 1.0))
    assert found.spearman.value == pytest.approx(stats.spearmanr(values, quality).statistic)
    assert found.pearson.value == pytest.approx(stats.pearsonr(values, quality).statistic)
    for one in (found.spearman, found.pearson):
        assert one.low < one.value < one.high
        assert (one.n, one.excluded, one.reason) == (150, 1, "")


@pytest.mark.parametrize(
    ("values", "quality", "reason"),
    [
        ([0.1, 0.2, 0.3], [1, 1, 1], "all 3 answers have the same quality"),
        ([0.2, 0.2, 0.2], [1, 0, 1], "all 3 answers have the same attention"),
        ([0.2, np.nan], [1, 0], "fewer than two answers have both values"),
    ],
)
def test_a_constant_has_no_correlation(values, quality, reason):
    found = correlations(np.array(values), np.array(quality, dtype=float))
    for one in (found.spearman, found.pearson):
        assert np.isnan([one.value, one.low, one.high]).all()
        assert one.reason == reason


def test_without_answers_there_is_no_bin_but_a_reason():
    found = quality_bins(np.full(3, np.nan), np.ones(3))
    assert (len(found.count), found.excluded) == (0, 3)
    assert found.reason == "no answer has both values"
    with pytest.raises(InvalidInput, match="at least 1"):
        quality_bins(np.ones(3), np.ones(3), bins=0)


def test_the_percentile_counts_the_less_uncertain_and_half_of_the_equal():
    uncertainties = np.array([1.0, 2.0, 2.0, 3.0, np.nan])
    assert [percentile_of(uncertainties, score) for score in (0, 1, 2, 2.5, np.inf)] == [0, 12.5, 50, 75, 100]
    assert math.isnan(percentile_of(uncertainties, math.nan))
    assert math.isnan(percentile_of(np.array([np.nan]), 1))
