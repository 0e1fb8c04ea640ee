"""Sums of softmaxes from the kernel that torch chooses: right, with the same output, and only where it is chosen."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from rauq.capture.kernel_sums import KernelSums, with_sums
from rauq.capture.session import last_key_weight

HEADS, WIDTH = 6, 16


def inputs(keys, *, groups=HEADS, dtype=torch.float32):
    generator = torch.Generator().manual_seed(keys)
    query = torch.randn(1, HEADS, 1, WIDTH, generator=generator)
    both = torch.randn(2, 1, groups, keys, WIDTH, generator=generator)
    return [one.to(dtype) for one in (query, *both)]


@pytest.mark.parametrize("keys", [1, 7, 300, 2049])
@pytest.mark.parametrize("groups", [1, 2, HEADS])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_weights_follow_from_the_sums_and_the_output_has_the_same_bits(keys, groups, scale):
    query, key, value = inputs(keys, groups=groups)
    plain = scaled_dot_product_attention(query, key, value, scale=scale, enable_gqa=True)
    with KernelSums() as sums:
        output = scaled_dot_product_attention(query, key, value, scale=scale, enable_gqa=True)
    assert torch.equal(output, plain)
    options = {"scaling": scale}
    found = last_key_weight(query, key, None, options, sums=sums.logarithm)
    torch.testing.assert_close(found, last_key_weight(query, key, None, options), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        (torch.bfloat16, {}),
        (torch.float64, {}),
        (torch.float32, {"attn_mask": torch.ones(1, 1, 1, 300, dtype=torch.bool)}),
        (torch.float32, {"dropout_p": 0.1}),
        (torch.float32, {"is_causal": True}),
    ],
    ids=str,
)
def test_other_calls_are_left_as_they_are(dtype, options):
    query, key, value = inputs(300, dtype=dtype)
    torch.manual_seed(0)
    plain = scaled_dot_product_attention(query, key, value, **options)
    torch.manual_seed(0)
    with KernelSums() as sums:
        output = scaled_dot_product_attention(query, key, value, **options)
    assert torch.equal(output, plain)
    assert sums.logarithm is None


def test_few_keys_are_read_again():
    query, key, value = inputs(20)

    def call():
        return scaled_dot_product_attention(query, key, value)

    output, sums = with_sums(call, key)
    assert sums is None
    assert torch.equal(output, call())
