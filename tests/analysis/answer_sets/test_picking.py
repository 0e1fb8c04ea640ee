"""The selected head is the one that the score picks."""

import numpy as np

import rauq
from analysis.answer_sets.heads import NO_HEAD, of_selected, pick
from rauq import Settings
from tests.answers import random_trace


def test_it_is_the_head_that_rauq_selects():
    traces = [random_trace(length, seed=length) for length in (2, 5, 9)]
    batch = rauq.batch(traces)
    scores = rauq.score_many(batch, Settings(layers="all"))
    np.testing.assert_array_equal(pick(batch.head_means(scores.layers)), scores.heads)


def test_the_lowest_of_equal_heads_is_picked_and_none_where_nothing_is_known():
    means = np.array([[0.2, 0.5, 0.5], [np.nan, np.nan, np.nan], [0.1, np.nan, 0.3]])
    picks = pick(means)
    assert picks.tolist() == [1, NO_HEAD, NO_HEAD]
    np.testing.assert_array_equal(of_selected(means, picks), [0.5, np.nan, np.nan])


def test_other_tokens_use_the_head_selected_over_the_whole_answer():
    fact = np.array([[0.9, 0.1], [np.nan, np.nan]])
    np.testing.assert_array_equal(of_selected(fact, np.array([1, 0])), [0.1, np.nan])
