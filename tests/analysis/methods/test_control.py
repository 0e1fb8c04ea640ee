"""The control: what is exchanged, what stays, and that it answers the question it asks."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.methods.control import control
from rauq.settings import Settings
from tests.traces import make_trace

SETTINGS = Settings(alpha=0.2, signal="probability")


def answers(count=12, *, seed=0):
    rng = np.random.default_rng(seed)
    traces = []
    for number in range(count):
        length = int(rng.integers(1, 8))
        traces.append(make_trace((b" a",) * length, probabilities=rng.uniform(0.2, 1, length), seed=number))
    return rauq.batch(traces)


def test_real_is_the_score_and_mean_of_heads_its_variant():
    batch = answers()
    result = control(batch, SETTINGS, derangements=2)
    np.testing.assert_array_equal(result.real, rauq.score_many(batch, SETTINGS).uncertainty)
    averaged = rauq.score_many(batch, replace(SETTINGS, heads="mean")).uncertainty
    np.testing.assert_array_equal(result.mean_of_heads, averaged)


def test_without_attention_in_the_score_every_exchange_changes_nothing():
    result = control(answers(), replace(SETTINGS, alpha=1.0), derangements=3)
    for exchanged in (*result.shuffled, result.constant, result.random_head, result.mean_of_heads):
        np.testing.assert_allclose(exchanged, result.real, rtol=1e-12)


def test_equal_attention_everywhere_makes_every_exchange_the_same():
    batch = answers()
    flat = replace(batch, attention=np.where(np.isnan(batch.attention), np.nan, np.float32(0.25)))
    result = control(flat, SETTINGS, derangements=3)
    for exchanged in (*result.shuffled, result.constant, result.random_head, result.mean_of_heads):
        np.testing.assert_allclose(exchanged, result.real, rtol=1e-6)


def test_a_shuffled_answer_never_keeps_its_own_attention():
    batch = answers(seed=1)
    result = control(batch, SETTINGS, derangements=20)
    has_attention = batch.lengths > 1
    assert (result.shuffled[:, has_attention] != result.real[has_attention]).all()
    np.testing.assert_array_equal(result.shuffled[:, ~has_attention], np.tile(result.real[~has_attention], (20, 1)))


def test_two_answers_of_one_length_swap_their_attention():
    traces = [make_trace(probabilities=(0.9, 0.5, 0.4), seed=seed) for seed in (1, 2)]
    swapped = [replace(trace, attention=other.attention) for trace, other in zip(traces, traces[::-1], strict=True)]
    result = control(rauq.batch(traces), SETTINGS, derangements=4)
    np.testing.assert_allclose(result.shuffled[0], rauq.score_many(rauq.batch(swapped), SETTINGS).uncertainty)


def test_it_is_seeded():
    first, second = (control(answers(), SETTINGS, derangements=2, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.shuffled, second.shuffled)
    np.testing.assert_array_equal(first.random_head, second.random_head)


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_both_alignments(alignment):
    batch = rauq.batch([make_trace(seed=seed) for seed in range(4)], alignment)
    assert np.isfinite(control(batch, replace(SETTINGS, alignment=alignment)).shuffled).all()


@pytest.mark.parametrize("lengths", [(2, 1), (3,), (1, 4, 1)])
def test_the_only_answer_with_weights_has_no_other_to_take_from(lengths):
    batch = rauq.batch([make_trace((b" a",) * length, seed=number) for number, length in enumerate(lengths)])
    result = control(batch, SETTINGS, derangements=3)
    np.testing.assert_array_equal(np.isnan(result.shuffled), np.tile(np.array(lengths) > 1, (3, 1)))
    assert np.isfinite(result.real).all()
