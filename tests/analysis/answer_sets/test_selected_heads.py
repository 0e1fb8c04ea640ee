"""Shares of selected heads, counted by hand."""

import numpy as np

from analysis.answer_sets.heads import agreement, selected_heads

PICKS = np.array([[2, 0], [2, 1], [0, -1], [2, -1], [1, -1]])


def test_by_hand():
    found = selected_heads(PICKS, (4, 7), 3)
    assert found.counts.tolist() == [5, 2]
    np.testing.assert_allclose(found.shares, [[0.2, 0.2, 0.6], [0.5, 0.5, 0]])
    assert found.most_frequent(4) == ((2, 0.6), (0, 0.2), (1, 0.2))
    assert found.most_frequent(4, most=1) == ((2, 0.6),)
    assert found.most_frequent(7) == ((0, 0.5), (1, 0.5))  # a head that nobody picks is no third


def test_the_order_of_answers_does_not_matter():
    order = np.random.default_rng(0).permutation(len(PICKS))
    np.testing.assert_array_equal(
        selected_heads(PICKS[order], (4, 7), 3).shares, selected_heads(PICKS, (4, 7), 3).shares
    )


def test_where_none_is_picked_shares_are_undefined():
    found = selected_heads(np.full((2, 1), -1), (0,), 3)
    assert np.isnan(found.shares).all()
    assert found.most_frequent(0) == ()


def test_groups_agree_where_they_have_the_same_top_head():
    found = agreement(PICKS, ["b", "a", "a", "b", "b"], (4, 7), 3)
    assert found.groups == ("a", "b")
    assert found.heads.tolist() == [2, 0]
    np.testing.assert_allclose(found.shares, [[0.5, 0], [2 / 3, 1]])
    assert found.group_heads.tolist() == [[0, 1], [2, 0]]


def test_a_group_without_picks_has_no_head():
    found = agreement(np.array([[1], [-1]]), ["a", "b"], (0,), 2)
    assert found.group_heads.tolist() == [[1], [-1]]
    assert np.isnan(found.shares[1, 0])
