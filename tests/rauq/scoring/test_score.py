"""Laws of the score: what it equals, what sums to it, and that one answer and a batch are one code path."""

import itertools
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rauq import InvalidInput, NotCaptured, Settings, batch, score, score_arrays, score_many
from rauq.scoring.settings import MEAN_UPDATES, LayerAggregation, TokenAggregation, Update
from tests.answers import random_trace, with_attention

UPDATES = get_args(Update)
RECURRENT = [update for update in UPDATES if update not in {"product", *MEAN_UPDATES}]
EVERY_CHOICE = [
    Settings(update=update, token_aggregation=tokens, layer_aggregation=layers, heads=heads, signal=signal, alpha=0.6)
    for update, (tokens, layers), (heads, signal) in itertools.product(
        UPDATES,
        itertools.product(get_args(TokenAggregation), get_args(LayerAggregation)),
        [("max", "probability"), ("mean", "entropy"), ("top5", "probability"), (((2, 1), (3, 0), (4, 3)), "entropy")],
    )
]


def summary(chosen):
    return " ".join(str(value) for value in (chosen.update, chosen.token_aggregation, chosen.layer_aggregation))


@given(num_tokens=st.integers(1, 20), seed=st.integers(0, 1000), update=st.sampled_from(RECURRENT))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_alpha_1_with_probability_is_perplexity(num_tokens, seed, update):
    trace = random_trace(num_tokens, seed=seed)
    chosen = Settings(alpha=1.0, signal="probability", update=update)
    assert score(trace, chosen).uncertainty == pytest.approx(-trace.logprobs.mean(), rel=1e-12)
    total = score(trace, replace(chosen, token_aggregation="sum_log"))
    assert total.uncertainty == pytest.approx(-trace.logprobs.sum(), rel=1e-12)


@pytest.mark.parametrize("layers", ["max", "mean"])
@pytest.mark.parametrize("tokens", ["mean_log", "sum_log", "mean"])
@pytest.mark.parametrize("update", [*RECURRENT, "product"])
def test_contributions_sum_to_the_score(update, tokens, layers):
    chosen = Settings(alpha=0.7, update=update, token_aggregation=tokens, layer_aggregation=layers)
    for num_tokens in (1, 2, 9):
        logprobs = np.log(np.linspace(0.6, 1, num_tokens))  # high enough to keep every confidence above 0
        result = score(random_trace(num_tokens, logprobs=logprobs), chosen)
        assert np.isfinite(result.uncertainty)
        assert result.contributions.sum() == pytest.approx(result.uncertainty, rel=1e-12)
        assert result.reasons.contributions == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"token_aggregation": "median"}, "median over tokens"),
        ({"layer_aggregation": "median"}, "median over layers"),
        ({"update": "mean_product"}, "mean_product"),
        ({"update": "mean_sum"}, "mean_sum"),
    ],
)
def test_contributions_are_undefined_with_a_reason(changes, reason):
    result = score(random_trace(5), Settings(**changes))
    assert np.isfinite(result.uncertainty)
    assert np.isnan(result.contributions).all()
    assert reason in result.reasons.contributions


@pytest.mark.parametrize("chosen", EVERY_CHOICE, ids=summary)
def test_a_batch_scores_as_each_of_its_answers(chosen):
    traces = [random_trace(n, seed=n) for n in (7, 1, 2, 12, 5)]
    together = score_many(batch(traces), chosen)
    assert together.layers == (2, 3, 4)
    for i, trace in enumerate(traces):
        alone = score(trace, chosen)
        assert together.uncertainty[i] == pytest.approx(alone.uncertainty, rel=1e-12, nan_ok=True)
        np.testing.assert_allclose(together.layer_scores[i], alone.layer_scores, rtol=1e-12)
        assert together.heads[i].tolist() == alone.heads.tolist()
        assert together.layer[i] == (-1 if alone.layer is None else alone.layer)
        assert together.reasons[i] == alone.reasons.uncertainty
        assert (alone.reasons.uncertainty != "") == np.isnan(alone.uncertainty)


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_bare_arrays_score_as_the_trace_they_come_from(alignment):
    trace = random_trace(6, layers=(3, 7, 11), num_layers=12)
    chosen = Settings(alignment=alignment, signal="entropy", alpha=0.5, layers="all")
    from_arrays = score_arrays(
        trace.previous_token_attention(alignment),
        trace.logprobs,
        chosen,
        entropies=trace.entropies,
        vocab_size=trace.vocab_size,
        layer_ids=trace.layers,
        num_layers=trace.num_layers,
    )
    from_trace = score(trace, chosen)
    assert from_arrays.uncertainty == from_trace.uncertainty
    assert (from_arrays.layers, from_arrays.layer) == ((3, 7, 11), from_trace.layer)
    np.testing.assert_array_equal(from_arrays.collapse, from_trace.collapse)


def test_alignments_read_different_weights():
    trace = random_trace(6)
    assert score(trace).uncertainty != score(trace, Settings(alignment="own")).uncertainty


def test_a_batch_of_one_alignment_refuses_the_other():
    with pytest.raises(InvalidInput, match="alignment='own'"):
        score_many(batch([random_trace(3)]), Settings(alignment="own"))


def test_a_trace_without_its_last_row_has_no_own_alignment():
    attention = random_trace(3).attention.copy()
    attention[:, :, -1] = np.nan
    trace = random_trace(3, attention=attention)
    assert np.isfinite(score(trace).uncertainty)
    with pytest.raises(NotCaptured, match="last_row=True"):
        score(trace, Settings(alignment="own"))


def test_the_score_names_its_layer_and_heads():
    trace = random_trace(6, kind="instruct")
    result = score(trace)
    assert (result.settings.signal, result.settings.alpha) == ("entropy", 0.9)
    assert result.layer == result.layers[result.layer_scores.argmax()]
    assert result.uncertainty == result.layer_scores.max()
    means = trace.previous_token_attention()[list(result.layers)].mean(axis=-1)
    assert result.heads.tolist() == means.argmax(axis=-1).tolist()
    np.testing.assert_allclose(result.attention.mean(axis=-1), means.max(axis=-1), rtol=1e-6)
    ordered = np.sort(means, axis=-1)
    np.testing.assert_allclose(result.margins, ordered[:, -1] - ordered[:, -2], rtol=1e-4)


@pytest.mark.parametrize("layers", ["mean", "median"])
def test_a_mean_or_median_over_layers_names_no_layer(layers):
    assert score(random_trace(4), Settings(layer_aggregation=layers)).layer is None


def test_the_mean_over_heads_selects_none():
    trace = random_trace(4)
    result = score(trace, Settings(heads="mean"))
    assert result.heads.tolist() == [-1, -1, -1]
    np.testing.assert_allclose(result.attention, trace.previous_token_attention()[2:5].mean(axis=1), rtol=1e-6)


@pytest.mark.parametrize("update", [*RECURRENT, "product"])
def test_one_token_is_as_uncertain_as_its_signal(update):
    trace = random_trace(1)
    result = score(trace, Settings(update=update))
    assert result.uncertainty == pytest.approx(-trace.logprobs[0], rel=1e-12)
    assert (result.layer, result.heads.tolist(), result.attention.shape) == (2, [0, 0, 0], (3, 0))


@pytest.mark.parametrize("update", MEAN_UPDATES)
def test_one_token_has_no_mean_of_attention(update):
    result = score(random_trace(1), Settings(update=update))
    assert np.isnan(result.uncertainty)
    assert "one token" in result.reasons.uncertainty
    assert result.layer is None


def test_two_tokens_by_hand():
    trace = with_attention(np.array([[[0.25], [0.5]]]), logprobs=np.log([0.5, 0.25]))
    result = score(trace, Settings(alpha=0.5, signal="probability"))
    assert result.confidence.tolist() == [[0.5, 0.5 * 0.25 + 0.5 * 0.5 * 0.5]]
    assert result.uncertainty == pytest.approx(-(np.log(0.5) + np.log(0.25)) / 2)


@pytest.mark.parametrize(("num_layers", "window"), [(1, (0,)), (2, (0, 1)), (3, (1, 2))])
def test_models_of_few_layers_have_a_window(num_layers, window):
    assert score(random_trace(4, num_layers=num_layers)).layers == window


def test_equal_heads_and_layers_go_to_the_lowest_index():
    result = score(with_attention(np.full((6, 4, 5), 0.3)))
    assert (result.heads.tolist(), result.layer, result.margins.tolist()) == ([0, 0, 0], 2, [0, 0, 0])


def test_without_attention_confidence_is_alpha_times_probability():
    trace = with_attention(np.zeros((3, 2, 4)))
    result = score(trace, Settings(alpha=0.2))
    np.testing.assert_allclose(result.confidence[0, 1:], 0.2 * np.exp(trace.logprobs[1:]))
    assert score(trace, Settings(alpha=0.0)).uncertainty == np.inf


def test_an_impossible_token_is_infinitely_uncertain_and_a_fully_confident_answer_scores_0():
    impossible = random_trace(3, logprobs=np.array([0.0, -np.inf, 0.0]))
    assert score(impossible, Settings(alpha=1.0)).uncertainty == np.inf
    sure = score(random_trace(3, logprobs=np.zeros(3)), Settings(alpha=1.0)).uncertainty
    assert (sure, np.signbit(sure)) == (0.0, False)


def test_nan_is_passed_on_with_a_reason():
    logprobs = random_trace(3).logprobs.copy()
    logprobs[1] = np.nan
    unknown = random_trace(3, logprobs=logprobs)
    together = score_many(batch([random_trace(5), unknown]))
    assert np.isnan(together.uncertainty).tolist() == [False, True]
    assert together.layer[1] == -1
    assert "nan" in together.reasons[1]


@pytest.mark.parametrize("tokens", get_args(TokenAggregation))
def test_one_unknown_token_makes_the_answer_unknown(tokens):
    logprobs = random_trace(9).logprobs.copy()
    logprobs[-1] = np.nan  # the last one: every confidence before it is known
    unknown = random_trace(9, logprobs=logprobs)
    together = score_many(batch([random_trace(12), unknown]), Settings(token_aggregation=tokens))
    assert np.isnan(together.uncertainty).tolist() == [False, True]


def test_a_negative_confidence_has_no_logarithm_but_a_mean():
    trace = with_attention(np.array([[[0.9, 0.1]]]), logprobs=np.log([0.9, 1, 0.001]))
    chosen = Settings(alpha=0.05, update="minus_mean")
    result = score(trace, chosen)
    assert result.confidence[0, 2] < 0
    assert np.isnan(result.uncertainty)
    assert "below 0" in result.reasons.uncertainty
    assert np.isnan(result.collapse).all()
    assert "below 0" in result.reasons.collapse
    averaged = score(trace, replace(chosen, token_aggregation="mean"))
    assert averaged.uncertainty == pytest.approx(-averaged.confidence.mean())
    assert np.isnan(averaged.collapse).tolist() == [False, False, True]
    assert "0 or less" in averaged.reasons.collapse


def test_alpha_sweeps_select_heads_once():
    answers = batch([random_trace(n, seed=n) for n in (4, 6)])
    first = score_many(answers, Settings(alpha=0.0))
    answers.attention[...] = 0.5  # what the means were made of; the picks must not be made again
    assert score_many(answers, Settings(alpha=1.0)).heads.tolist() == first.heads.tolist()


def test_layers_of_a_hybrid_keep_their_numbers():
    trace = random_trace(4, layers=(3, 7, 11), num_layers=12)
    assert (score(trace).layers, score(trace).layer) == ((7,), 7)
    fixed = score(trace, Settings(layers=(3, 11), heads=((3, 2), (7, 0), (11, 1))))
    assert fixed.heads.tolist() == [2, 1]
    np.testing.assert_allclose(fixed.attention[1], trace.previous_token_attention()[2, 1], rtol=1e-7)
    with pytest.raises(InvalidInput, match="Layers 4 have no captured attention"):
        score(trace, Settings(layers=(4,)))


GOOD = {"attention": np.full((3, 2, 3), 0.5), "logprobs": np.log(np.full(4, 0.5))}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": np.full((3, 2, 4), 0.5)}, r"\(layers, heads, N - 1\)"),
        ({"attention": np.full((3, 6), 0.5)}, r"\(layers, heads, N - 1\)"),
        ({"attention": np.empty((0, 2, 3))}, r"\(layers, heads, N - 1\)"),
        ({"attention": np.float64(0.5)}, r"\(layers, heads, N - 1\)"),
        ({"logprobs": np.empty(0)}, "N at least 1"),
        ({"logprobs": np.zeros((2, 2))}, r"must both be \(N,\)"),
        ({"attention": np.full((3, 2, 3), 1.5)}, r"attention holds 1.5; it must lie in \[0, 1\]"),
        ({"logprobs": np.full(4, 0.5)}, r"logprobs holds 0.5; it must lie in \[-inf, 0\]"),
        ({"entropies": np.full(4, 5.0), "vocab_size": 100}, "entropies holds 5.0"),
        ({"entropies": np.zeros(3), "vocab_size": 100}, r"must both be \(N,\)"),
        ({"layer_ids": (0, 1), "num_layers": 3}, "layer_ids"),
        ({"layer_ids": (0, 1, 1), "num_layers": 3}, "layer_ids"),
        ({"layer_ids": (0, 1, 3), "num_layers": 3}, "layer_ids"),
        ({"layer_ids": (0, 1, 3)}, "give num_layers"),
        ({"layer_ids": (0.0, 1.5, 2.9), "num_layers": 3}, "whole number"),
        ({"layer_ids": 3, "num_layers": 3}, "whole number"),
        ({"settings": Settings(signal="entropy", alpha=0.5), "vocab_size": 100}, "needs entropies and vocab_size"),
        ({"settings": Settings(signal="entropy", alpha=0.5), "entropies": np.zeros(4)}, "needs entropies"),
        ({"settings": Settings(alpha=0.5)}, "Give both"),
    ],
)
def test_bad_arrays_raise(changes, message):
    arguments = GOOD | {"settings": Settings(alpha=0.2, signal="probability")}
    assert np.isfinite(score_arrays(**arguments).uncertainty)
    with pytest.raises(InvalidInput, match=message):
        score_arrays(**(arguments | changes))
