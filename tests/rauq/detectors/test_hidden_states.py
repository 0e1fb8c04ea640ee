"""Sheeps and SATRMD + MSP with given numbers: their features, their formulas, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import mahalanobis

from rauq.detectors.hidden_states import Satrmd, Sheeps, layer_features, layer_probabilities
from rauq.errors import InvalidInput, NotCaptured
from tests.answers import random_trace

L, D = 6, 5
RNG = np.random.default_rng(0)
SHEEPS = Sheeps(
    attention=RNG.normal(size=(L, D)),
    probes=RNG.normal(size=(L, D)),
    biases=RNG.normal(size=L),
    weights=RNG.normal(size=L),
    intercept=0.3,
)
SATRMD = Satrmd(
    num_layers=L,
    layers=np.array([0, 2, 5]),
    means=RNG.normal(size=(2, 3, D)),
    whitening=RNG.normal(size=(2, 3, D, D)),
    weights=RNG.normal(size=3),
    msp_weight=0.1,
    entropy_weight=-0.2,
    intercept=0.4,
)


def traced(num_tokens=4, dtype=np.float32):
    states = np.random.default_rng(num_tokens).normal(size=(L + 1, num_tokens, D)).astype(dtype)
    return random_trace(num_tokens, num_layers=L, extras={"hidden_layers": states})


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_features_are_the_states_but_the_last_and_the_numbers_of_each_token(dtype):
    trace = traced(dtype=dtype)
    found = layer_features(trace)
    assert (found.shape, found.dtype) == ((L, 4, D + 2), dtype)
    np.testing.assert_array_equal(found[..., :-2], trace.extras["hidden_layers"][:-1])
    for layer in range(L):
        np.testing.assert_allclose(found[layer, :, -2], trace.logprobs, rtol=1e-3)
        np.testing.assert_allclose(found[layer, :, -1], trace.entropies, rtol=1e-3)


def test_a_trace_without_states_of_all_layers_is_refused():
    with pytest.raises(NotCaptured, match=r"extras=\('hidden_layers',\)"):
        layer_features(random_trace(4))
    few = replace(traced(), extras={"hidden_layers": np.zeros((L, 4, D), np.float32)})
    with pytest.raises(InvalidInput, match=r"shape \(6, 4, 5\), and this answer's is \(7, 4, any\)"):
        layer_features(few)


@pytest.mark.parametrize("num_tokens", [1, 4])
def test_probes_are_what_torch_computes(num_tokens):
    states = layer_features(traced(num_tokens))[..., :-2]
    found = layer_probabilities(states, SHEEPS.attention, SHEEPS.probes, SHEEPS.biases)
    for layer in range(L):
        pooling, classes = torch.nn.Linear(D, 1).double(), torch.nn.Linear(D, 2).double()
        with torch.no_grad():
            pooling.weight.copy_(torch.from_numpy(SHEEPS.attention[layer]))
            classes.weight[1] = classes.weight[0] + torch.from_numpy(SHEEPS.probes[layer])
            classes.bias[1] = classes.bias[0] + SHEEPS.biases[layer]
            rows = torch.from_numpy(states[layer].astype(float))
            pooled = torch.softmax(pooling(rows), dim=0).T @ rows
            assert found[layer] == pytest.approx(torch.softmax(classes(pooled), dim=1)[0, 1].item(), abs=1e-12)
    joined = 1 / (1 + np.exp(-(found @ SHEEPS.weights + 0.3)))
    assert SHEEPS.value(layer_features(traced(num_tokens))) == pytest.approx(joined, abs=1e-12)


def test_large_scores_overflow_nowhere():
    assert replace(SHEEPS, attention=SHEEPS.attention * 1e4, intercept=1e4).value(layer_features(traced())) == 1.0
    assert replace(SHEEPS, intercept=-1e4).value(layer_features(traced())) == 0.0


@pytest.mark.parametrize("num_tokens", [1, 4])
def test_satrmd_is_its_formula_with_scipys_distance(num_tokens):
    trace = traced(num_tokens)
    given, expected = layer_features(trace), 0.4
    for place, layer in enumerate([0, 2, 5]):
        inverse = [white @ white.T for white in SATRMD.whitening[:, place]]
        parts = [
            mahalanobis(row, SATRMD.means[0, place], inverse[0]) - mahalanobis(row, SATRMD.means[1, place], inverse[1])
            for row in given[layer, :, :-2].astype(float)
        ]
        expected += SATRMD.weights[place] * np.mean(parts)
    expected += -0.1 * trace.logprobs.sum() - 0.2 * trace.entropies.mean()
    assert SATRMD.value(given) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("detector", [SHEEPS, SATRMD])
def test_answers_that_do_not_fit_are_refused(detector):
    given = layer_features(traced())
    for wrong in (given[1:], given[..., 1:], given[:, :0], given[0]):
        with pytest.raises(InvalidInput, match=r"was fitted on features of shape \(6, any, 7\)"):
            detector.value(wrong)
    given[2, 1, 1] = np.nan
    with pytest.raises(InvalidInput, match="hold nan or infinity"):
        detector.value(given)


@pytest.mark.parametrize(
    ("detector", "changes", "said"),
    [
        (SHEEPS, {"attention": np.zeros(L)}, "attention"),
        (SHEEPS, {"probes": np.zeros((L, D + 1))}, r"probes is .* array \(6, 5\)"),
        (SHEEPS, {"biases": np.full(L, np.nan)}, "biases"),
        (SHEEPS, {"weights": np.zeros(L - 1)}, "weights"),
        (SHEEPS, {"intercept": np.inf}, "intercept"),
        (SATRMD, {"num_layers": 5}, "below 5"),
        (SATRMD, {"num_layers": 0}, "num_layers is 0"),
        (SATRMD, {"layers": np.array([2, 0, 5])}, "ascending"),
        (SATRMD, {"layers": np.array([0, 2])}, "means"),
        (SATRMD, {"layers": np.array([0.0, 2.0, 5.0])}, "whole"),
        (SATRMD, {"means": np.zeros((2, 3, D + 1))}, "whitening"),
        (SATRMD, {"weights": np.zeros(2)}, "weights"),
        (SATRMD, {"msp_weight": "1"}, "msp_weight"),
    ],
)
def test_damaged_detectors_are_refused(detector, changes, said):
    with pytest.raises(InvalidInput, match=said):
        replace(detector, **changes)
