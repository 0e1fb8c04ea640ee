"""Logarithms of the softmaxes' sums as FlashAttention has them: with these, a weight is one product of query and key.

They have not been tried on a GPU. They are used where they equal those that are recomputed from all keys.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Totals = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From queries (n, H, D), how many keys each sees (n,), and the numbers (n, U) of the blocks that have them: the
logarithm (n, H) of the softmax's sum over them."""


def flash_totals(
    kernel: Callable[..., tuple[Tensor, Tensor]], attention: Any, caches: Callable[[], Sequence[Tensor]]
) -> Totals:
    """Those that the kernel `flash_attn_varlen_func` returns beside its output.

    `attention`: vLLM's `FlashAttentionImpl`. `caches`: gives the keys and the values (blocks, B, G, D). Each query is a
    sequence of its own, the last of its tokens.
    """

    def totals(query: Tensor, lengths: Tensor, blocks: Tensor) -> Tensor:
        keys, values = caches()
        _, found = kernel(
            q=query.contiguous(),
            k=keys,
            v=values,
            cu_seqlens_q=torch.arange(len(query) + 1, dtype=torch.int32, device=query.device),
            max_seqlen_q=1,
            seqused_k=lengths.int(),
            max_seqlen_k=blocks.shape[1] * keys.shape[1],
            softmax_scale=attention.scale,
            causal=True,
            window_size=list(attention.sliding_window),
            block_table=blocks.int(),
            fa_version=attention.vllm_flash_attn_version,
            s_aux=attention.sinks,
            return_softmax_lse=True,
        )
        return found.T

    return totals
