"""Picking heads: the largest mean, ties to the lowest index, fixed heads as named."""

import numpy as np
import pytest

from rauq import InvalidInput
from rauq.heads import head_weights, margins, pick_heads

MEANS = np.array([[[0.1, 0.5, 0.3], [0.7, 0.2, 0.7]]])  # one answer, layers 4 and 5, three heads


def test_the_head_with_the_largest_mean_is_picked_and_ties_go_to_the_lowest_index():
    assert pick_heads(MEANS, (4, 5), "max").tolist() == [[[1], [0]]]


def test_top5_and_mean_rank_the_heads():
    assert pick_heads(MEANS, (4, 5), "top5").tolist() == [[[1, 2, 0], [0, 2, 1]]]
    assert pick_heads(MEANS, (4, 5), "mean").shape == (1, 2, 3)
    assert pick_heads(np.linspace(0, 1, 8)[None, None], (0,), "top5").tolist() == [[[7, 6, 5, 4, 3]]]
    tied = np.tile([0.5, 0.9], 32)[None, None]
    assert pick_heads(tied, (0,), "top5").tolist() == [[[1, 3, 5, 7, 9]]]


@pytest.mark.parametrize("rule", ["max", "top5", "mean"])
def test_a_head_whose_mean_is_unknown_is_never_passed_over(rule):
    means = np.linspace(0, 1, 8)[None, None].copy()
    means[..., 2] = np.nan
    assert pick_heads(means, (0,), rule)[0, 0, 0] == 2


def test_fixed_heads_are_taken_as_named_whatever_their_order():
    assert pick_heads(MEANS, (4, 5), ((5, 1), (9, 0), (4, 2))).tolist() == [[[2], [1]]]


def test_fixed_heads_must_cover_the_window_and_exist():
    with pytest.raises(InvalidInput, match="no head for layers 5 of the window"):
        pick_heads(MEANS, (4, 5), ((4, 0),))
    with pytest.raises(InvalidInput, match="head 3; this model has heads 0 to 2"):
        pick_heads(MEANS, (4, 5), ((4, 0), (5, 3)))


def test_weights_are_those_of_the_picked_heads():
    attention = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)  # (A, L, H, N - 1)
    picked = np.array([[[1], [3]], [[0], [2]]])
    weights = head_weights(attention, np.array([2, 0]), picked)
    assert weights.shape == (2, 2, 1, 2)
    assert weights[0, 0, 0].tolist() == attention[0, 2, 1].tolist()
    assert weights[1, 1, 0].tolist() == attention[1, 0, 2].tolist()


def test_margin_is_the_distance_to_the_best_other_head():
    np.testing.assert_allclose(margins(MEANS[0], np.array([1, 0])), [0.2, 0.0])
    np.testing.assert_allclose(margins(MEANS[0], np.array([0, 1])), [-0.4, -0.5])


def test_margin_is_nan_without_a_head_or_without_others():
    assert np.isnan(margins(MEANS[0], np.array([-1, -1]))).all()
    assert np.isnan(margins(MEANS[0][:, :1], np.array([0, 0]))).all()
