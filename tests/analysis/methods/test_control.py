"""The control: what is exchanged, what stays, and that it answers the question it asks."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.methods.attention_permutation import control, control_of_groups
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import combine_layers, steps_of
from rauq.scoring.settings import Settings
from tests.analysis.methods.batches import informative_batch
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


@pytest.mark.parametrize("lengths", [(2, 1), (3,), (1, 4, 1), (1, 1)])
def test_a_single_answer_with_weights_has_no_donor(lengths):
    batch = rauq.batch([make_trace((b" a",) * length, seed=number) for number, length in enumerate(lengths)])
    result = control(batch, SETTINGS, derangements=3)
    np.testing.assert_array_equal(np.isnan(result.shuffled), np.tile(np.array(lengths) > 1, (3, 1)))
    assert np.isfinite(result.real).all()


def marked(batch, *, one_in=2):
    """Every second token of each answer, and of answer 0 none."""
    tokens = (np.arange(batch.logprobs.shape[1]) % one_in == 0) & (
        np.arange(batch.logprobs.shape[1]) < batch.lengths[:, None]
    )
    tokens[0] = False
    return tokens


@pytest.mark.parametrize("length", range(2, 9))
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_weights_come_from_a_neighbour_by_length(length, count):
    """With lengths all different, each layer's weights tell whose they are: no further than two places away."""
    lengths = length + np.arange(count)
    batch, _ = informative_batch(count, strength=0.0, lengths=lengths)
    own = np.where(np.isnan(batch.attention), np.nan, (np.arange(count) / 20 + 0.02)[:, None, None, None])
    batch = replace(batch, attention=own.astype(np.float32), logprobs=np.where(np.isnan(batch.logprobs), np.nan, 0.0))
    result = control(batch, Settings(alpha=0.0, signal="probability"), derangements=6)
    # With probability 1 and alpha 0 the score is -log w * (N - 1) / 2: it says the weight that an answer was given.
    weights = np.exp(-result.shuffled * 2 / (lengths - 1))
    donors = np.rint((weights - 0.02) * 20).astype(int)
    assert (donors != np.arange(count)).all()
    assert (np.abs(donors - np.arange(count)) <= 2).all()
    assert all(sorted(row) == list(range(count)) for row in donors)


def test_a_longer_answer_repeats_the_weights_it_is_given():
    short, long = (make_trace((b" a",) * length, seed=length) for length in (3, 6))
    given = [short.previous_token_attention()[layer, layer % 4] for layer in range(6)]  # of the selected heads
    repeated = np.array(given)[:, None, np.arange(5) % 2]
    expected = rauq.score_arrays(repeated, long.logprobs, SETTINGS).uncertainty
    result = control(rauq.batch([short, long]), SETTINGS, derangements=1)
    assert result.shuffled[0, 1] == pytest.approx(expected, rel=1e-6)


def test_all_tokens_marked_is_the_whole_score():
    batch = answers()
    inside = np.arange(batch.logprobs.shape[1]) < batch.lengths[:, None]
    whole, marked_all = (
        control(batch, SETTINGS, derangements=2),
        control(batch, SETTINGS, tokens=inside, derangements=2),
    )
    for name in ("real", "shuffled", "constant", "random_head", "mean_of_heads"):
        np.testing.assert_allclose(getattr(marked_all, name), getattr(whole, name), rtol=1e-12)


def test_marked_tokens_alone_count_and_confidence_flows_through_the_others():
    batch = answers()
    tokens = marked(batch)
    result = control(batch, SETTINGS, tokens=tokens, derangements=1)
    assert np.isnan(result.real[0])
    assert np.isnan(result.shuffled[:, 0]).all()
    for row in range(1, len(batch.lengths)):
        length = batch.lengths[row]
        own = steps_of(batch.take(np.array([row])), SETTINGS).confidence[0, :, :length]
        expected = combine_layers(-np.log(own[:, tokens[row, :length]]).mean(axis=-1), "max")
        assert result.real[row] == pytest.approx(expected, rel=1e-12)


def test_groups_exchange_among_themselves_alone():
    batch = answers(12, seed=3)
    names = ["a", "b", "b"] * 4
    tokens = marked(batch)
    found = control_of_groups(batch, SETTINGS, names, tokens=tokens, derangements=3, seed=7)
    for name in ("a", "b"):
        rows = np.flatnonzero(np.array(names) == name)
        own = control(batch.take(rows), SETTINGS, tokens=tokens[rows], derangements=3, seed=7)
        for field in ("real", "shuffled", "constant", "random_head", "mean_of_heads"):
            np.testing.assert_array_equal(getattr(found, field)[..., rows], getattr(own, field))


def test_half_precision_is_summed_in_full():
    batch, _ = informative_batch(400, strength=0.0)
    half = replace(batch, attention=np.full_like(batch.attention, 0.1, dtype=np.float16))
    result = control(half, SETTINGS, derangements=1)
    np.testing.assert_allclose(result.constant, result.real, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "restricted"),
    [
        ({"heads": "mean"}, False),
        ({"heads": ((2, 0), (3, 0), (4, 0))}, False),
        ({"token_aggregation": "median"}, True),
        ({"update": "mean_sum"}, True),
    ],
)
def test_settings_that_it_cannot_exchange_are_refused(changes, restricted):
    batch = answers()
    with pytest.raises(InvalidInput):
        control(batch, replace(SETTINGS, **changes), tokens=marked(batch) if restricted else None)
