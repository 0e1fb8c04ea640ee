"""The weights that the plugin recomputes from a key cache are those of a softmax over all keys."""

import pytest
import torch
from rauq_vllm.attention import LAYOUTS, Softmax, layout_of, total, weights, weights_near

SEQUENCES, ROWS, HEADS, GROUPS, WIDTH, BLOCK, USED = 3, 2, 6, 2, 8, 4, 5
LENGTHS = torch.tensor([[17, 18], [2, 3], [9, 20]])
SOFTMAXES = {
    "plain": Softmax(scale=0.3),
    "window": Softmax(scale=0.3, window=5),
    "softcap": Softmax(scale=0.3, softcap=0.7),
    "sinks": Softmax(scale=0.3, sinks=torch.linspace(-2, 2, HEADS)),
    "all": Softmax(scale=0.3, window=3, softcap=1.1, sinks=torch.linspace(2, -2, HEADS)),
}


def stored(keys, layout):
    """Blocks of keys (..., B, D) as a kernel with this layout stores them."""
    return keys.transpose(-1, -2).reshape(keys.shape) if layout == "columns" else keys


def expected(query, keys, length, softmax, offsets):
    """The weights (H, K) of one query (H, D), by a softmax over its keys (T, G, D), one head after the other."""
    found = torch.full((HEADS, offsets), torch.nan)
    for head in range(HEADS):
        first = max(0, length - softmax.window) if softmax.window else 0
        scores = keys[first:length, head // (HEADS // GROUPS)].double() @ query[head].double() * softmax.scale
        if softmax.softcap:
            scores = softmax.softcap * torch.tanh(scores / softmax.softcap)
        if softmax.sinks is not None:
            scores = torch.cat([scores, softmax.sinks[head : head + 1].double()])
        seen = scores.softmax(0)[: length - first]
        everything = torch.cat([torch.zeros(first, dtype=torch.float64), seen])
        for back in range(min(offsets, length)):
            found[head, back] = everything[length - 1 - back]
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SOFTMAXES)
def test_weights_are_a_softmax_over_all_keys(name, layout):
    torch.manual_seed(5)
    query = torch.randn(SEQUENCES, ROWS, HEADS, WIDTH)
    keys = torch.randn(SEQUENCES, USED, GROUPS, BLOCK, WIDTH)
    found = weights(query, stored(keys, layout), LENGTHS, layout=layout, softmax=SOFTMAXES[name], offsets=4)
    in_order = keys.transpose(2, 3).reshape(SEQUENCES, USED * BLOCK, GROUPS, WIDTH)
    for sequence in range(SEQUENCES):
        for row in range(ROWS):
            length = int(LENGTHS[sequence, row])
            right = expected(query[sequence, row], in_order[sequence], length, SOFTMAXES[name], 4)
            torch.testing.assert_close(found[sequence, row], right, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", SOFTMAXES)
def test_with_the_sums_of_the_softmax_the_nearest_keys_are_enough(name):
    torch.manual_seed(5)
    query = torch.randn(SEQUENCES, ROWS, HEADS, WIDTH)
    blocks = torch.randperm(SEQUENCES * USED).view(SEQUENCES, USED)
    cache = torch.randn(SEQUENCES * USED, GROUPS, BLOCK, WIDTH)
    right = weights(query, cache[blocks], LENGTHS, layout="rows", softmax=SOFTMAXES[name], offsets=7)
    sums = [
        total(query[sequence, row], cache[blocks[sequence]], int(length), layout="rows", softmax=SOFTMAXES[name])
        for sequence, lengths in enumerate(LENGTHS)
        for row, length in enumerate(lengths)
    ]
    totals = torch.stack(sums).view(SEQUENCES, ROWS, HEADS)
    far = torch.full_like(cache, torch.nan)  # of each sequence, keys that no query has among its nearest
    for sequence, lengths in enumerate(LENGTHS):
        for place in range(max(0, int(lengths.min()) - 7), int(lengths.max())):
            block = blocks[sequence, place // BLOCK]
            far[block, :, place % BLOCK] = cache[block, :, place % BLOCK]
    found = weights_near(query, far, LENGTHS, blocks=blocks, totals=totals, softmax=SOFTMAXES[name], offsets=7)
    torch.testing.assert_close(found, right, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_is_found_by_a_key_that_was_just_stored(layout, dtype):
    torch.manual_seed(6)
    keys = torch.randn(GROUPS, BLOCK, WIDTH).to(dtype)
    assert layout_of(stored(keys, layout), keys[:, 2], 2) == layout


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="layout that rauq-vllm does not know"):
        layout_of(torch.zeros(GROUPS, BLOCK, WIDTH), torch.ones(GROUPS, WIDTH), 1)
