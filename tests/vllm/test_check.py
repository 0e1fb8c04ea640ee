"""The output that captured weights lead to is a kernel's own, and another one is refused with what it differs by."""

from dataclasses import replace

import pytest
import torch
from rauq_vllm.attention import LAYOUTS, Softmax
from rauq_vllm.check import LayerStep, Row, check, layouts_of

from tests.vllm.test_attention import BLOCK, GROUPS, HEADS, SOFTMAXES, WIDTH, stored

LENGTH, BLOCKS, ORDER = 18, 9, torch.tensor([7, 2, 5, 0, 3])


def outputs(query, keys, values, softmax):
    """What a layer gives (H, D) for a query (H, D), one head after the other."""
    first = max(0, LENGTH - softmax.window) if softmax.window else 0
    found = []
    for head in range(HEADS):
        group = head // (HEADS // GROUPS)
        scores = keys[first:, group].double() @ query[head].double() * softmax.scale
        if softmax.softcap:
            scores = softmax.softcap * torch.tanh(scores / softmax.softcap)
        if softmax.sinks is not None:
            scores = torch.cat([scores, softmax.sinks[head : head + 1].double()])
        found.append(scores.softmax(0)[: LENGTH - first] @ values[first:, group].double())
    return torch.cat(found)


def step(softmax, layouts=("rows", "rows"), dtype=torch.float32):
    """A step of one row, as a kernel with these layouts leaves it, and the row."""
    torch.manual_seed(7)
    query = torch.randn(1, HEADS, WIDTH).to(dtype)
    keys, values = torch.randn(2, LENGTH, GROUPS, WIDTH).to(dtype)
    caches = torch.full((2, BLOCKS, GROUPS, BLOCK, WIDTH), torch.nan, dtype=dtype)
    for place in range(LENGTH):
        caches[:, ORDER[place // BLOCK], :, place % BLOCK] = torch.stack([keys[place], values[place]])
    both = (stored(cache, layout) for cache, layout in zip(caches, layouts, strict=True))
    given = outputs(query[0], keys, values, softmax)[None].to(dtype)
    return LayerStep(query, keys[-1:], values[-1:], *both, given, None), Row(0, LENGTH, ORDER)


@pytest.mark.parametrize("name", SOFTMAXES)
@pytest.mark.parametrize("layouts", [(one, other) for one in LAYOUTS for other in LAYOUTS])
def test_a_kernel_with_the_same_softmax_passes(name, layouts):
    computed, row = step(SOFTMAXES[name], layouts)
    assert layouts_of(computed, row) == layouts
    check(computed, row, layouts, SOFTMAXES[name])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounding_of_the_kernels_dtype_passes(dtype):
    computed, row = step(SOFTMAXES["all"], dtype=dtype)
    check(computed, row, ("rows", "rows"), SOFTMAXES["all"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "wrong", [{"scale": 0.4}, {"window": 4}, {"window": 0}, {"softcap": 0.0}, {"sinks": None}], ids=str
)
def test_another_softmax_is_refused(wrong, dtype):
    computed, row = step(SOFTMAXES["all"], dtype=dtype)
    with pytest.raises(ValueError, match="after 18 tokens, the output of a layer differs by"):
        check(computed, row, ("rows", "rows"), replace(SOFTMAXES["all"], **wrong))


def test_nan_in_an_output_is_refused():
    computed, row = step(Softmax(scale=0.3))
    with pytest.raises(ValueError, match="differs by nan"):
        check(replace(computed, output=computed.output * torch.nan), row, ("rows", "rows"), Softmax(scale=0.3))
