"""Where two methods disagree most: the largest differences of rank, on either side, for any scales."""

import numpy as np
import pytest

from analysis.methods.agreement import disagreement


def test_the_answers_of_the_largest_difference_come_first_on_their_side():
    first = np.array([1.0, 2, 3, 4, 5])
    second = np.array([50.0, 20, 30, 10, 40])
    found = disagreement(first, second)
    assert found.first_more_uncertain.rows.tolist() == [3, 4]
    assert found.second_more_uncertain.rows.tolist() == [0]
    assert found.first_more_uncertain.first == pytest.approx([0.8, 1.0])
    assert found.first_more_uncertain.second == pytest.approx([0.2, 0.8])
    assert (found.n, found.excluded) == (5, 0)
    assert disagreement(first, second, most=1).first_more_uncertain.rows.tolist() == [3]


def test_the_sides_change_places_with_the_methods_and_scales_do_not_count():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 50))
    one, other = disagreement(first, second), disagreement(np.exp(second), first * 7)
    np.testing.assert_array_equal(one.first_more_uncertain.rows, other.second_more_uncertain.rows)
    np.testing.assert_array_equal(one.second_more_uncertain.first, other.first_more_uncertain.second)


def test_answers_that_lack_an_uncertainty_are_counted_and_never_listed():
    first, second = np.array([np.nan, 1.0, 2.0, np.inf]), np.array([5.0, np.nan, 4.0, 3.0])
    found = disagreement(first, second)
    assert (found.n, found.excluded) == (2, 2)
    assert found.first_more_uncertain.rows.tolist() == [3]
    assert found.second_more_uncertain.rows.tolist() == [2]


@pytest.mark.parametrize("size", [0, 1, 6])
def test_methods_of_one_order_do_not_disagree(size):
    found = disagreement(np.arange(size) / 2, np.arange(size) ** 3)
    assert not len(found.first_more_uncertain.rows)
    assert not len(found.second_more_uncertain.rows)
