"""The tolerance of a captured weight: at least the rounding error, and little more."""

import numpy as np
import pytest
import torch
from torch import nn

from rauq.capture.recompute import FLOOR, MOST, Call, nearest, recomputed
from rauq.capture.session import band
from rauq.capture.tap import Keys, Pending, Rows

HEADS, KEY_HEADS, KEYS = 4, 2, 40


def made(*, scores, width, dtype, seed=0, options=None, common=0.0):
    """One call whose scores reach about so many; `common` is the share of them that all keys have alike."""
    random = np.random.default_rng(seed)
    query = random.normal(size=(1, HEADS, 3, width)) + common
    key = random.normal(size=(1, KEY_HEADS, KEYS, width)) + common
    size = (scores / np.abs(query @ key.repeat(2, axis=1).swapaxes(2, 3)).max() * width**0.5) ** 0.5
    given = [torch.tensor(array * size).to(dtype) for array in (query, key)]
    mask = torch.zeros(1, 1, 3, KEYS).masked_fill(torch.ones(3, KEYS).triu(KEYS - 2) > 0, torch.finfo().min)
    return Call(nn.Identity(), *given, mask, {"scaling": width**-0.5, **(options or {})}, None)


def captured(call):
    rows = [Rows(3, call.mask, 0)]
    return band(Pending(call.query, Keys(0, call.key), rows, call.options, KEYS - 1), {})[0].double()


def both(call):
    return [nearest(weights, end=KEYS) for weights in recomputed(call)]


def by_hand(call):
    """Head by head and key by key, in the widest floats that numpy has."""
    query, key, mask = (tensor.double().numpy().astype(np.longdouble) for tensor in (*call[1:3], call.mask))
    rows = np.zeros((HEADS, 3, KEYS), dtype=np.longdouble)
    for head in range(HEADS):
        for row in range(3):
            scores = [np.dot(query[0, head, row], other) * call.options["scaling"] for other in key[0, head // 2]]
            if cap := call.options.get("softcap"):
                scores = [cap * np.tanh(score / cap) for score in scores]
            exponentials = np.exp(np.array(scores) + mask[0, 0, row] - max(scores))
            sink = np.exp(call.options["s_aux"][head].item() - max(scores)) if "s_aux" in call.options else 0
            rows[head, row] = exponentials / (exponentials.sum() + sink)
    return rows


@pytest.mark.parametrize("options", [{}, {"softcap": 5.0}, {"s_aux": torch.tensor([0.5, -2.0, 3.0, 9.0])}], ids=str)
def test_the_weights_are_those_computed_by_hand(options):
    call = made(scores=10, width=16, dtype=torch.bfloat16, options=options)
    np.testing.assert_allclose(recomputed(call)[0].numpy(), by_hand(call).astype(float), atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("width", [8, 64, 256])
@pytest.mark.parametrize("common", [0.0, 30.0])
@pytest.mark.parametrize("scores", [1, 30, 500])
def test_rounding_stays_within_what_is_tolerated(scores, width, dtype, common):
    for seed in range(5):
        call = made(scores=scores, width=width, dtype=dtype, seed=seed, common=common)
        weights, tolerated = both(call)
        assert (abs(captured(call) - weights) <= tolerated).all()


def test_what_is_tolerated_grows_with_the_scores_and_vanishes_where_a_weight_is_certain():
    reached = [
        both(made(scores=scores, width=64, dtype=torch.float32, common=30.0))[1].max() for scores in (1, 30, 500)
    ]
    assert FLOOR < reached[0] < reached[1] < reached[2] <= MOST
    assert reached[0] < 1e-5
    weights, tolerated = both(made(scores=5000, width=64, dtype=torch.float32))
    certain = weights < 1e-9
    assert certain.any()
    assert tolerated[certain].max() < 2 * FLOOR


def test_one_bit_of_bfloat16_in_a_query_is_beyond_what_is_tolerated():
    call = made(scores=30, width=64, dtype=torch.bfloat16)
    weights, tolerated = both(call)
    moved = captured(call._replace(query=call.query * (1 + 2**-7)))
    assert (abs(moved - weights) > tolerated).any()


class WithoutFloat64(torch.Tensor):
    """A tensor of a device that has no float64, as Apple's GPUs: it has to go to the CPU first."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor)
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, torch.Tensor) and result.dtype == torch.float64:
            message = "Cannot convert a tensor to float64 on this device."
            raise TypeError(message)
        return result


def test_a_device_without_float64_is_recomputed_on_the_cpu():
    call = made(scores=10, width=16, dtype=torch.float32, options={"s_aux": torch.zeros(HEADS)})
    there = {name: getattr(call, name).as_subclass(WithoutFloat64) for name in ("query", "key", "mask")}
    with pytest.raises(TypeError):
        there["query"].double()
    elsewhere = call._replace(
        **there, options={**call.options, "s_aux": call.options["s_aux"].as_subclass(WithoutFloat64)}
    )
    assert torch.equal(recomputed(elsewhere)[0], recomputed(call)[0])


def test_keys_that_the_model_dropped_weigh_nothing_and_those_before_the_sequence_are_unknown():
    weights = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(1, 2, 3)
    rows = nearest(weights, end=5)[0]
    np.testing.assert_array_equal(rows[0], [2, 1, 0, 0, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(rows[1], [6, 5, 4, 0, 0, np.nan, np.nan, np.nan])
