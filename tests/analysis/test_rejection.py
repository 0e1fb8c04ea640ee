"""The rejection curve: what is kept is what its definition says, and undefined answers are counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import prr, rejection_curve
from rauq.errors import InvalidInput


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=25), st.integers(0, 10**6))
def test_each_point_is_the_mean_of_what_is_left(quality, seed):
    quality = np.array(quality)
    uncertainty = np.random.default_rng(seed).permutation(len(quality)).astype(float)
    curve = rejection_curve(uncertainty, quality)
    for rejected, share in enumerate(curve.rejected):
        left = uncertainty < len(quality) - rejected
        assert share == pytest.approx(rejected / len(quality))
        assert curve.kept_quality[rejected] == pytest.approx(quality[left].mean())
        assert curve.oracle[rejected] == pytest.approx(np.sort(quality)[rejected:].mean())
    np.testing.assert_allclose(curve.random, quality.mean())


def test_the_curve_ends_where_it_is_told_and_gives_the_prr():
    rng = np.random.default_rng(0)
    uncertainty, quality = rng.normal(size=50), rng.random(50)
    curve = rejection_curve(uncertainty, quality, max_rejection=0.2)
    assert len(curve.rejected) == len(curve.oracle) == 10
    gained, possible = (curve.kept_quality - curve.random).sum(), (curve.oracle - curve.random).sum()
    assert gained / possible == pytest.approx(prr(uncertainty, quality, max_rejection=0.2))


def test_equal_uncertainty_keeps_the_mean():
    curve = rejection_curve(np.zeros(4), np.array([0.0, 1.0, 0.0, 1.0]))
    np.testing.assert_allclose(curve.kept_quality, 0.5)


def test_what_has_no_uncertainty_or_quality_is_counted_and_left_out():
    uncertainty = np.array([np.nan, 1.0, np.inf, -np.inf, 2.0, 3.0])
    quality = np.array([1.0, np.nan, 0.0, 1.0, np.inf, 0.5])
    curve = rejection_curve(uncertainty, quality)
    assert (curve.n, curve.excluded) == (3, 3)
    np.testing.assert_allclose(curve.kept_quality, [0.5, 0.75, 1.0])


def test_of_nothing_there_is_no_curve():
    curve = rejection_curve(np.array([np.nan]), np.array([1.0]))
    assert (curve.n, curve.excluded, curve.rejected.tolist(), curve.oracle.tolist()) == (0, 1, [], [])


@pytest.mark.parametrize("share", [0, -0.1, 1.01, np.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InvalidInput, match="at most 1"):
        rejection_curve(np.arange(4), np.arange(4), max_rejection=share)
