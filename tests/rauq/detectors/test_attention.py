"""TAD with given weights: its features, its recurrence, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from rauq.detectors.attention import AGGREGATIONS, Tad, aggregated, design
from rauq.detectors.attention import tad_features as features
from rauq.errors import InvalidInput, NotCaptured
from tests.answers import random_trace
from tests.labelled import OFFSETS, WEIGHTS, tad_features

SIZE = OFFSETS * (WEIGHTS + 3) + 1
TAD = Tad(weights=np.random.default_rng(1).normal(0, 0.2, SIZE), intercept=0.1, offsets=OFFSETS, aggregation="sum_log")


def test_features_are_the_probability_and_the_weights_on_earlier_answer_tokens():
    trace = random_trace(6, seed=2)
    found = features(trace, offsets=8)
    assert found.shape == (6, 8, 6 * 4 + 1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[..., -1], np.tile(np.exp(trace.logprobs), (8, 1)).T, rtol=1e-6)
    assert not found[0, :, :-1].any()
    for offset in range(1, 9):
        expected = np.nan_to_num(trace.previous_token_attention(offset=offset))  # nan: the key is in the prompt
        np.testing.assert_array_equal(found[1:, offset - 1, :-1], np.moveaxis(expected, 2, 0).reshape(5, -1))


def test_a_trace_with_fewer_offsets_or_without_their_weights_is_refused():
    trace = random_trace(6)
    with pytest.raises(NotCaptured, match=r"10 tokens before.*offsets=10, and keep all layers"):
        features(trace)
    attention = trace.attention.copy()
    attention[..., 2:] = np.nan
    with pytest.raises(NotCaptured, match="offsets=3"):
        features(replace(trace, attention=attention), offsets=3)
    assert features(replace(trace, attention=attention), offsets=2).shape[1] == 2
    assert features(random_trace(1), offsets=8).shape == (1, 8, 25)


@pytest.mark.parametrize("num_tokens", [1, 2, 3, 9])
def test_each_value_is_the_regression_on_the_values_before(num_tokens):
    given = tad_features(np.random.default_rng(num_tokens), num_tokens)
    values = TAD.token_values(given)
    assert values[0] == given[0, 0, -1]
    again = design(given, values) @ TAD.weights + TAD.intercept
    np.testing.assert_allclose(values[1:], np.clip(again, 0, 1)[1:], atol=1e-12)
    assert TAD.value(given) == pytest.approx(-np.log(values + 1e-5).sum(), abs=1e-12)
    assert replace(TAD, aggregation="mean").value(given) == pytest.approx(-values.mean(), abs=1e-12)


def test_columns_of_the_regression_stand_in_their_order():
    given = tad_features(np.random.default_rng(0), 5)
    values, p = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), given[:, 0, -1]
    row = design(given, values)[4]
    assert row[:12].tolist() == given[4, :, :-1].ravel().tolist()
    assert row[12:16].tolist() == p[[4, 3, 2, 1]].tolist()
    assert row[16:19].tolist() == [0.4, 0.3, 0.2]
    np.testing.assert_allclose(row[19:], p[4] * row[16:19])
    assert design(given, values)[1, 14:19].tolist() == [0, 0, 0.1, 0, 0]


def test_less_confident_values_are_more_uncertain():
    values = np.array([[0.9, 0.8], [0.9, 0.3]])
    for aggregation in AGGREGATIONS:
        low, high = aggregated(values, aggregation)
        assert low < high
    with pytest.raises(InvalidInput, match="choose one of mean, sum_log"):
        aggregated(values, "median")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weights": np.zeros(SIZE + 1)}, "number of weights"),
        ({"weights": np.zeros(3 * OFFSETS + 1)}, "number of weights"),
        ({"weights": np.zeros((SIZE, 1))}, "an array .any. of finite numbers"),
        ({"weights": np.full(SIZE, np.inf)}, "finite"),
        ({"weights": "abc"}, "weights is 'abc'"),
        ({"intercept": np.nan}, "intercept"),
        ({"offsets": 0}, "offsets is 0"),
        ({"aggregation": "other"}, "mean or sum_log"),
    ],
)
def test_damaged_detectors_are_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        replace(TAD, **changes)


def test_answers_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match=r"shape \(any, 3, 5\)"):
        TAD.value(np.zeros((2, OFFSETS, WEIGHTS)))
    with pytest.raises(InvalidInput, match="nan or infinity"):
        TAD.value(np.full((2, OFFSETS, WEIGHTS + 1), np.nan))
