"""The rows of figure 2 are chosen by quality alone, and every best answer is better than every worst one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.heads import pick
from rauq.errors import InvalidInput


def chosen(quality, *, k=10, seed=0, attention=None):
    quality = np.array(quality, dtype=float)
    if attention is None:
        attention = np.random.default_rng(1).uniform(0, 1, (len(quality), 3))
    return best_and_worst(attention, quality, pick(attention), k=k, seed=seed)


def test_by_hand():
    attention = np.array([[0.1, 0.2], [0.5, 0.1], [0.3, 0.9], [0.2, 0.3], [0.4, 0.3]])
    found = chosen([0.2, 0.9, 0.4, 1.0, 0.1], k=2, attention=attention)
    assert found.rows.tolist() == [3, 1, 0, 4]
    assert found.quality.tolist() == [1.0, 0.9, 0.2, 0.1]
    assert found.picks.tolist() == [1, 0, 1, 0]
    assert found.head == 0  # means over the rows shown: 0.3 and 0.225; over all answers it would be head 1
    assert (found.k, found.drawn, found.excluded, found.reason) == (2, False, 0, "")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan]), min_size=1, max_size=30), st.integers(1, 12))
def test_best_and_worst_never_mix(quality, k):
    found = chosen(quality, k=k)
    best, worst = found.quality[: found.k], found.quality[found.k :]
    assert found.k <= k
    assert len(set(found.rows.tolist())) == 2 * found.k
    if found.k:
        assert best.min() > worst.max()
        assert best.max() == np.nanmax(quality)
        assert worst.min() == np.nanmin(quality)
    assert (found.k < k) == bool(found.reason)
    assert (found.head is None) == (found.k == 0)


def test_the_order_of_answers_does_not_matter_where_nothing_is_drawn():
    quality = np.random.default_rng(0).permutation(30)
    attention = np.random.default_rng(1).uniform(0, 1, (30, 3))
    order = np.random.default_rng(2).permutation(30)
    first = chosen(quality, attention=attention)
    mixed = chosen(quality[order], attention=attention[order])
    np.testing.assert_array_equal(order[mixed.rows], first.rows)


def test_ties_are_broken_by_the_seed_and_reported():
    quality = [1.0] * 20 + [0.0] * 20
    draws = [chosen(quality, k=5, seed=seed) for seed in (0, 0, 1)]
    assert draws[0].drawn
    np.testing.assert_array_equal(draws[0].rows, draws[1].rows)
    assert draws[0].rows.tolist() != draws[2].rows.tolist()
    assert not chosen([1, 1, 0, 0], k=2).drawn  # all of the equal ones are shown


def test_the_draw_does_not_depend_on_attention():
    quality = [1.0] * 20 + [0.0] * 20
    low = chosen(quality, k=5, attention=np.zeros((40, 3)))
    np.testing.assert_array_equal(low.rows, chosen(quality, k=5).rows)


def test_answers_without_quality_or_attention_are_excluded():
    attention = np.full((5, 2), 0.5)
    attention[0] = np.nan
    found = chosen([1.0, np.nan, 0.9, 0.1, 0.0], k=1, attention=attention)
    assert found.rows.tolist() == [2, 4]
    assert found.excluded == 2


@pytest.mark.parametrize(
    ("quality", "k", "reason"),
    [
        ([1, 1, 1, 0], 1, "because of ties in quality, at most 1 of 4 answers fit on each side"),
        ([1, 1, 1], 0, "all 3 answers have the same quality"),
        ([1], 0, "fewer than two answers have a quality and attention"),
        ([np.nan, np.nan], 0, "fewer than two answers have a quality and attention"),
    ],
)
def test_fewer_rows_than_requested_have_a_reason(quality, k, reason):
    found = chosen(quality)
    assert (found.k, found.reason) == (k, reason)


def test_zero_rows_are_refused():
    with pytest.raises(InvalidInput, match="at least 1"):
        chosen([1, 0], k=0)
