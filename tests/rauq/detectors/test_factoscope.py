"""Factoscope with given weights: its features, its network, its score, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from rauq.detectors.factoscope import NUM_WEIGHTS, OTHERS, Factoscope, features, rows_of, support_score
from rauq.detectors.factoscope_network import Network, embedded, packed, unpacked
from rauq.errors import InvalidInput, NotCaptured
from tests.answers import random_trace

L, D, COLUMNS = 5, 10, 4


def traced(num_tokens=3, dtype=np.float32):
    rng = np.random.default_rng(num_tokens)
    lens = rng.uniform(0, 1, (L, num_tokens, OTHERS)).astype(dtype)
    lens[..., 0] = rng.integers(1, 1000, (L, num_tokens))
    states = rng.normal(size=(L + 1, num_tokens, D)).astype(dtype)
    return random_trace(num_tokens, num_layers=L, extras={"hidden_layers": states, "logit_lens": lens})


@pytest.fixture(scope="module")
def network():
    """Not as initialised: running statistics and norms differ from 0 and 1."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        made = Network()
        for name, one in made.state_dict().items():
            if name.endswith("running_mean"):
                one.uniform_(-0.1, 0.1)
            elif name.endswith("running_var") or (name.endswith("weight") and one.ndim == 1):
                one.uniform_(0.5, 1.5)
    return made.eval()


@pytest.fixture(scope="module")
def detector(network):
    rng = np.random.default_rng(0)
    return Factoscope(
        num_layers=L,
        width=D,
        columns=COLUMNS,
        mean=0.2,
        std=1.5,
        weights=packed(network),
        correct=rng.uniform(size=(4, 64)),
        incorrect=rng.uniform(size=(3, 64)),
    )


def test_features_are_the_states_and_what_each_layer_would_say():
    trace = traced()
    found = features(trace)
    states, lens = trace.extras["hidden_layers"], trace.extras["logit_lens"]
    assert (found.shape, found.dtype) == ((L, 3, D + OTHERS), np.float32)
    np.testing.assert_array_equal(found[:-1, :, :D], states[: L - 1])
    np.testing.assert_array_equal(found[-1, :, :D], states[L])
    np.testing.assert_allclose(found[..., D], 1 / lens[..., 0])
    np.testing.assert_array_equal(found[..., D + 1 :], lens[..., 1:])


def test_a_trace_that_lacks_an_extra_is_refused():
    trace = traced()
    for name in ("hidden_layers", "logit_lens"):
        without = {other: array for other, array in trace.extras.items() if other != name}
        with pytest.raises(NotCaptured, match=rf"extras=\('{name}',\)"):
            features(replace(trace, extras=without))


def test_rows_average_neighbouring_columns():
    given = features(traced())
    rows = rows_of(given, COLUMNS)
    assert rows.shape == (3, L, COLUMNS + OTHERS)
    parts = [given[..., :2], given[..., 2:5], given[..., 5:7], given[..., 7:10]]
    for column, part in enumerate(parts):
        np.testing.assert_allclose(rows[..., column], part.mean(axis=-1).T, rtol=1e-5)
    np.testing.assert_array_equal(rows[..., COLUMNS:], np.moveaxis(given[..., D:], 0, 1))
    np.testing.assert_array_equal(rows_of(given, D), np.moveaxis(given, 0, 1))


def convolved(images, weights, name, stride):
    """A convolution and its norm, by the names that the state has for them."""
    kernel = weights[f"{name}.0.weight"]
    found = functional.conv2d(images, kernel, stride=stride, padding=kernel.shape[-1] // 2)
    statistics = (weights[f"{name}.1.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    mean, variance, scale, shift = (part[:, None, None] for part in statistics)
    return (found - mean) / torch.sqrt(variance + 1e-5) * scale + shift


def resnet(images, weights, name):
    """ResNet-18 as its paper draws it."""
    found = functional.max_pool2d(functional.relu(convolved(images[:, None], weights, f"{name}.0", 2)), 3, 2, padding=1)
    for block in range(8):
        own, stride = f"{name}.{block + 3}", 2 if block in (2, 4, 6) else 1
        inner = functional.relu(convolved(found, weights, f"{own}.body.0", stride))
        shortcut = convolved(found, weights, f"{own}.shortcut", stride) if stride == 2 else found
        found = functional.relu(convolved(inner, weights, f"{own}.body.2", 1) + shortcut)
    return found.mean(dim=(2, 3)) @ weights[f"{name}.13.weight"].T + weights[f"{name}.13.bias"]


def recurrent(steps, weights, name):
    """A gated recurrent unit, step by step (Cho et al., 2014; the reset gate after the product)."""
    state, found = torch.zeros(len(steps), weights[f"{name}.weight_hh_l0"].shape[1], dtype=steps.dtype), []
    for step in steps.unbind(1):
        into, back = (
            (given @ weights[f"{name}.weight_{way}_l0"].T + weights[f"{name}.bias_{way}_l0"]).chunk(3, dim=1)
            for given, way in ((step, "ih"), (state, "hh"))
        )
        reset, update = torch.sigmoid(into[0] + back[0]), torch.sigmoid(into[1] + back[1])
        state = (1 - update) * torch.tanh(into[2] + reset * back[2]) + update * state
        found.append(state)
    return torch.stack(found, dim=1)


def by_hand(rows, weights):
    columns = rows.shape[-1] - OTHERS
    ranks = recurrent(recurrent(rows[..., columns, None], weights, "ranks.first"), weights, "ranks.second")[:, -1]
    for place in (1, 2):
        ranks = ranks @ weights[f"ranks.head.{place}.weight"].T + weights[f"ranks.head.{place}.bias"]
    parts = [
        resnet(rows[..., :columns], weights, "hidden"),
        ranks,
        resnet(rows[..., columns + 1 : columns + 11], weights, "cosines"),
        resnet(rows[..., columns + 11 :], weights, "probabilities"),
    ]
    joined = functional.relu(torch.cat(parts, dim=1) @ weights["joint.weight"].T + weights["joint.bias"])
    return joined / joined.norm(dim=1, keepdim=True)


def test_the_network_is_its_description(network):
    rows = np.random.default_rng(3).normal(size=(3, 7, 12 + OTHERS)).astype(np.float32)
    weights = {name: one.double() for name, one in network.state_dict().items()}
    found = embedded(network, rows)
    assert found.shape == (3, 64)
    np.testing.assert_allclose(found, by_hand(torch.from_numpy(rows).double(), weights), atol=1e-4)


def test_weights_are_packed_and_unpacked_whole(network):
    weights = packed(network)
    assert weights.shape == (NUM_WEIGHTS,)
    for (name, one), (other_name, other) in zip(
        network.state_dict().items(), unpacked(weights).state_dict().items(), strict=True
    ):
        assert name == other_name
        assert "num_batches" in name or torch.equal(one, other)


def test_networks_that_join_later_do_not_count(network):
    rows = torch.from_numpy(np.random.default_rng(3).normal(size=(2, 7, 12 + OTHERS)).astype(np.float32))
    changed = rows.clone()
    changed[..., -20:] = 0.5
    with torch.no_grad():
        assert network(rows, 1).shape == (2, 24)
        for stage in (1, 2):
            assert torch.equal(network(rows, stage), network(changed, stage))
        for stage in (3, 4):
            assert not torch.equal(network(rows, stage), network(changed, stage))
        weights = {name: one.double() for name, one in network.state_dict().items()}
        weights["joint.weight"][:, 72:] = 0  # the columns of the fourth network
        np.testing.assert_allclose(network(rows, 3), by_hand(rows.double(), weights), atol=1e-4)


def test_the_score_is_the_mean_ratio_of_the_distances(detector):
    given = features(traced())
    rows = rows_of(given, COLUMNS)
    rows[..., :COLUMNS] = (rows[..., :COLUMNS] - 0.2) / 1.5
    found = embedded(unpacked(detector.weights), rows)
    ratios = []
    for row in found:
        near = min(np.sqrt(((row - other) ** 2).sum()) for other in detector.correct)
        ratios.append(near / min(np.sqrt(((row - other) ** 2).sum()) for other in detector.incorrect))
    assert detector.value(given) == pytest.approx(np.mean(ratios), rel=1e-6)
    assert detector.value(given) == detector.value(given)


def test_a_row_on_an_incorrect_one_has_no_score():
    rows = np.eye(3)
    assert support_score(rows[:1], rows[:1], rows[1:2]) == 0
    with pytest.raises(InvalidInput, match="at distance 0"):
        support_score(rows, rows[:1], rows[1:2])


def test_answers_that_do_not_fit_are_refused(detector):
    given = features(traced())
    with pytest.raises(InvalidInput, match=r"shape \(5, any, 31\)"):
        detector.value(given[1:])
    with pytest.raises(InvalidInput, match="nan or infinity"):
        detector.value(given * np.nan)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_layers": 0}, "num_layers is 0"),
        ({"columns": D + 1}, "from 1 to 10"),
        ({"std": 0.0}, "std is 0.0"),
        ({"mean": np.nan}, "mean"),
        ({"weights": np.zeros(10)}, "weights"),
        ({"correct": np.zeros((0, 64))}, "correct"),
        ({"incorrect": np.zeros((3, 65))}, "incorrect"),
    ],
)
def test_damaged_detectors_are_refused(detector, changes, said):
    with pytest.raises(InvalidInput, match=said):
        replace(detector, **changes)
