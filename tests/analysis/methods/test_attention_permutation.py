"""The control: what is exchanged, what stays, and that it detects whether attention separates answers."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.methods.attention_permutation import EXCHANGES, NO_FACTS, control, control_groups, control_of_groups
from analysis.methods.comparison import WITHIN, groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import combine_layers, steps_of
from rauq.scoring.settings import Settings
from tests.analysis.methods.batches import LENGTH, informative_batch
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


NAMES = ["a", "b"] * 30 + ["b", "a"] * 30
GROUPS = groups_of(NAMES)


def controls(strength, *, metric="prr", facts=None, seed=0, judged=True):
    batch, quality = informative_batch(len(NAMES), strength=strength, seed=seed)
    quality = quality if judged else np.full(len(NAMES), np.nan)
    return control_groups(batch, quality, NAMES, GROUPS, metric=metric, thresholds=Thresholds(), facts=facts)


@pytest.mark.parametrize("metric", ["prr", "roc_auc"])
def test_informative_attention_is_detected(metric):
    for found in controls(0.4, metric=metric):
        assert found.under("shuffled").difference.low > 0
        assert found.under("constant").difference.low > 0
        assert found.under("random head").difference.low > 0
        assert found.real.value > 0.6


def test_uninformative_attention_is_not_detected():
    whole = [controls(0.0, seed=seed)[0].under("shuffled").difference for seed in range(3)]
    assert all(one.low <= 0 <= one.high for one in whole)
    assert abs(np.mean([one.value for one in whole])) < 0.1


def test_misleading_attention_is_reported():
    assert controls(-0.3)[0].under("shuffled").difference.high < 0


def test_values_are_those_of_the_exchanged_scores():
    batch, quality = informative_batch(len(NAMES), strength=0.1)
    scores = control_of_groups(batch, Settings(), NAMES)
    by_name = {one.group: one for one in controls(0.1)}
    assert list(by_name) == ["all", WITHIN, "a", "b"]
    for group in GROUPS:
        found = by_name[group.name]
        rows, own = group.rows, quality[group.rows]
        real = prr(scores.real[rows], own)
        expected = {
            "shuffled": np.mean([prr(one[rows], own) for one in scores.shuffled]),
            "constant": prr(scores.constant[rows], own),
            "random head": prr(scores.random_head[rows], own),
            "mean of heads": prr(scores.mean_of_heads[rows], own),
        }
        assert found.real.value == pytest.approx(real)
        assert set(expected) == set(EXCHANGES) - {"none"} == {one.exchange for one in found.exchanged}
        for exchange, value in expected.items():
            one = found.under(exchange)
            assert one.estimate.value == pytest.approx(value)
            assert one.difference.value == pytest.approx(real - value)
            assert one.difference.low <= one.difference.value <= one.difference.high
            assert one.difference.n == len(rows)


def test_the_mean_within_groups_is_that_of_every_difference():
    _, mean, *own = controls(0.1)
    for exchange in ("shuffled", "constant", "random head", "mean of heads"):
        for part in ("estimate", "difference"):
            values = [getattr(one.under(exchange), part).value for one in own]
            assert getattr(mean.under(exchange), part).value == pytest.approx(np.mean(values))


def test_a_group_without_fact_tokens_is_left_out_of_the_mean():
    facts = np.zeros((len(NAMES), LENGTH), dtype=bool)
    facts[np.array(NAMES) == "a", 2:4] = True
    _, mean, own, without = controls(0.4, facts=facts)
    assert without.real.reason == NO_FACTS
    assert (mean.real.value, mean.real.n, mean.real.excluded) == (own.real.value, 60, 60)


def test_an_exchange_that_changes_no_uncertainty_makes_no_difference():
    batch, quality = informative_batch(40, strength=0.2)
    (found,) = control_groups(
        batch,
        quality,
        ["a"] * 40,
        groups_of(["a"] * 40),
        metric="prr",
        thresholds=Thresholds(),
        settings=Settings(alpha=1.0, signal="probability"),
    )
    for one in found.exchanged:
        assert one.difference.value == pytest.approx(0, abs=1e-9)
        assert one.difference.low == pytest.approx(-one.difference.high)


def test_answers_without_a_token_of_the_fact_are_left_out_and_counted():
    facts = np.zeros((len(NAMES), LENGTH), dtype=bool)
    facts[10:, 2:4] = True
    found = controls(0.4, facts=facts)[0]
    assert (found.tokens, found.real.n, found.real.excluded) == ("fact", len(NAMES) - 10, 10)
    assert found.under("shuffled").difference.low > 0


def test_without_fact_tokens_the_control_is_undefined_with_a_reason():
    for found in controls(0.4, facts=np.zeros((len(NAMES), LENGTH), dtype=bool)):
        everything = [found.real, *(one.difference for one in found.exchanged)]
        assert all(np.isnan(one.value) and one.reason == NO_FACTS for one in everything)


def test_fact_tokens_are_not_blamed_where_answers_have_no_quality():
    facts = np.zeros((len(NAMES), LENGTH), dtype=bool)
    facts[:, 2:4] = True
    for found in controls(0.4, facts=facts, judged=False):
        assert found.real.reason
        assert found.real.reason != NO_FACTS


def test_a_single_answer_of_a_group_has_no_exchange():
    batch, quality = informative_batch(9, strength=0.4)
    names = ["lonely"] + ["many"] * 8
    found = control_groups(batch, quality, names, groups_of(names), metric="prr", thresholds=Thresholds())
    by_name = {one.group: one for one in found}
    assert by_name["lonely"].under("shuffled").difference.reason
    assert by_name["all"].real.n == 9
    assert by_name["all"].under("shuffled").difference.n == 8
