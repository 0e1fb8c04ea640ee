"""Collapse: about 0 for a confident model, largest at the improbable token, its shares sum to it; and margins."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rauq import InvalidInput, Settings, batch, score, score_arrays
from rauq.scoring.score import collapse_many, margins
from rauq.scoring.settings import WITHOUT_ALPHA, Update
from tests.answers import VOCAB_SIZE, random_trace, with_attention

FLOWING = [update for update in get_args(Update) if update not in WITHOUT_ALPHA]
PROBABILITY = Settings(alpha=0.2, signal="probability", layers="all")
HEAD_MEANS = np.array([[0.1, 0.5, 0.3], [0.7, 0.2, 0.7]])  # two layers, three heads
ENTROPY = Settings(alpha=0.5, signal="entropy", layers="all")


def steady_attention(num_tokens, *, level, jitter, seed):
    """Weights around `level`, each at most `jitter` of it away: (3 layers, 2 heads, N - 1)."""
    rng = np.random.default_rng(seed)
    return level * (1 + jitter * rng.uniform(-1, 1, (3, 2, num_tokens - 1)))


def answer_with_one_improbable_token(num_tokens, surprise, *, probability, level, seed=0):
    """A trace in which every token is probable but one, whose probability is low and whose entropy is high."""
    logprobs, entropies = np.full(num_tokens, np.log(0.97)), np.full(num_tokens, 0.1)
    logprobs[surprise], entropies[surprise] = np.log(probability), (1 - probability) * np.log(VOCAB_SIZE)
    attention = steady_attention(num_tokens, level=level, jitter=0.05, seed=seed)
    return with_attention(attention, logprobs=logprobs, entropies=entropies)


@pytest.mark.parametrize("chosen", [PROBABILITY, ENTROPY])
@pytest.mark.parametrize("level", [0.02, 0.15, 0.5, 0.95])
def test_a_fully_confident_answer_has_no_collapse(chosen, level):
    attention = steady_attention(20, level=level, jitter=0.05, seed=1)
    sure = score(with_attention(attention, logprobs=np.zeros(20), entropies=np.zeros(20)), chosen)
    assert np.abs(sure.collapse).max() < 0.2
    constant = np.full((3, 2, 19), level)
    exactly_sure = score(with_attention(constant, logprobs=np.zeros(20), entropies=np.zeros(20)), chosen)
    np.testing.assert_allclose(exactly_sure.collapse, 0, atol=1e-12)


@given(
    num_tokens=st.integers(2, 30),
    position=st.floats(0, 1, exclude_max=True),
    probability=st.floats(0.005, 0.3),
    level=st.floats(0.02, 0.8),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, derandomize=True, max_examples=100)
def test_the_improbable_token_is_where_confidence_collapses(num_tokens, position, probability, level, seed):
    surprise = int(position * num_tokens)
    trace = answer_with_one_improbable_token(num_tokens, surprise, probability=probability, level=level, seed=seed)
    for chosen in (PROBABILITY, ENTROPY):
        assert score(trace, chosen).collapse.argmax() == surprise


def test_the_largest_fall_of_confidence_is_the_second_token_instead():
    for surprise in range(3, 12):
        result = score(answer_with_one_improbable_token(12, surprise, probability=0.3, level=0.15), PROBABILITY)
        falls = -np.diff(np.log(result.confidence[result.layers.index(result.layer)]))
        assert 1 + falls.argmax() == 1
        assert result.collapse.argmax() == surprise


@pytest.mark.parametrize("signal", ["probability", "entropy"])
@pytest.mark.parametrize("heads", ["max", "mean", "top5"])
@pytest.mark.parametrize("update", FLOWING)
def test_the_shares_of_signal_and_attention_sum_to_the_collapse(update, heads, signal):
    for aggregation in ("max", "mean"):
        chosen = Settings(alpha=0.7, signal=signal, update=update, heads=heads, layer_aggregation=aggregation)
        result = score(random_trace(9, seed=3, num_heads=8), chosen)
        assert np.isfinite(result.collapse).all()
        np.testing.assert_allclose(result.collapse_shares.sum(axis=-1), result.collapse, rtol=0, atol=1e-12)


def test_each_share_is_0_where_its_input_is_that_of_the_reference():
    rng = np.random.default_rng(0)
    certain = with_attention(rng.uniform(0, 1, (3, 2, 7)), logprobs=np.zeros(8))
    np.testing.assert_allclose(score(certain, PROBABILITY).collapse_shares[:, 0], 0, atol=1e-15)
    steady = with_attention(np.full((3, 2, 7), 0.4), logprobs=np.log(rng.uniform(0.1, 1, 8)))
    np.testing.assert_allclose(score(steady, PROBABILITY).collapse_shares[:, 1], 0, atol=1e-15)


def test_without_attention_in_the_update_attention_has_no_share():
    result = score(random_trace(8), Settings(update="no_attention"))
    assert (result.collapse_shares[:, 1] == 0).all()


def test_shares_are_the_mean_of_both_orders_of_exchange():
    signal, attention = np.array([0.9, 0.3, 0.5]), np.array([0.6, 0.2])
    chosen = Settings(alpha=0.2, signal="probability", layers="all")
    found = score_arrays(attention[None, None], np.log(signal), chosen)

    def last_log(s, a):
        second = 0.2 * s[1] + 0.8 * a[0] * s[0]
        return np.log(0.2 * s[2] + 0.8 * a[1] * second)

    sure, even = np.ones(3), np.full(2, 0.4)
    signal_first = last_log(sure, attention) - last_log(signal, attention)
    signal_last = last_log(sure, even) - last_log(signal, even)
    assert found.collapse_shares[2, 0] == pytest.approx((signal_first + signal_last) / 2)
    assert found.collapse[2] == pytest.approx(last_log(sure, even) - last_log(signal, attention))
    assert found.reference_confidence[0].tolist() == pytest.approx([1, 0.2 + 0.32, 0.2 + 0.32 * 0.52])


@pytest.mark.parametrize("update", WITHOUT_ALPHA)
def test_updates_that_do_not_carry_confidence_forward_have_no_collapse(update):
    result = score(random_trace(6), Settings(update=update))
    assert np.isnan(result.collapse).all()
    assert np.isnan(result.collapse_shares).all()
    assert update in result.reasons.collapse
    assert update in result.reasons.collapse_shares


def test_the_mean_over_layers_collapses_by_the_mean_and_the_median_not_at_all():
    trace = random_trace(6)
    alone = [score(trace, Settings(layers=(layer,))).collapse for layer in (2, 3, 4)]
    np.testing.assert_allclose(score(trace, Settings(layer_aggregation="mean")).collapse, np.mean(alone, axis=0))
    median = score(trace, Settings(layer_aggregation="median"))
    assert np.isnan(median.collapse).all()
    assert "median over layers" in median.reasons.collapse


def test_a_confidence_of_0_collapses_infinitely_and_has_no_shares():
    impossible = score(random_trace(3, logprobs=np.array([0.0, -np.inf, 0.0])), Settings(alpha=1.0))
    assert impossible.collapse[1] == np.inf
    assert np.isnan(impossible.collapse_shares[1]).any()
    assert "0 or less" in impossible.reasons.collapse_shares
    assert impossible.reasons.collapse == ""


def test_margin_is_the_distance_to_the_best_other_head():
    np.testing.assert_allclose(margins(HEAD_MEANS, np.array([1, 0])), [0.2, 0.0])
    np.testing.assert_allclose(margins(HEAD_MEANS, np.array([0, 1])), [-0.4, -0.5])


def test_margin_is_nan_without_a_head_or_without_others():
    assert np.isnan(margins(HEAD_MEANS, np.array([-1, -1]))).all()
    assert np.isnan(margins(HEAD_MEANS[:, :1], np.array([0, 0]))).all()


@pytest.mark.parametrize("update", get_args(Update))
@pytest.mark.parametrize("layer_aggregation", ["max", "mean", "median"])
def test_many_answers_have_the_collapse_of_each(update, layer_aggregation):
    settings = Settings(update=update, layer_aggregation=layer_aggregation, layers="all")
    traces = [random_trace(num_tokens, seed=num_tokens) for num_tokens in (5, 1, 9, 2)]
    found = collapse_many(batch(traces), settings)
    for own, trace in zip(found, traces, strict=True):
        np.testing.assert_allclose(own, score(trace, settings).collapse, atol=1e-12)


def test_an_undefined_answer_leaves_the_others_their_collapse():
    traces = [random_trace(6, seed=1), random_trace(4, seed=2)]
    broken = replace(traces[0], logprobs=np.where(np.arange(6) == 3, np.nan, traces[0].logprobs))
    first, second = collapse_many(batch([broken, traces[1]]), PROBABILITY)
    assert np.isnan(first).all()
    np.testing.assert_allclose(second, score(traces[1], PROBABILITY).collapse)
    with pytest.raises(InvalidInput, match="give a batch"):
        collapse_many(traces)
