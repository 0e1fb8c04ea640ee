"""Logarithms of the softmaxes' sums as a kernel has them: with these, a weight is one product of query and key.

They have not been tried on a GPU. They are used where they equal those that are recomputed from all keys.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(eq=False)
class RowsPlan:
    """FlashInfer's `BatchDecodeWithPagedKVCacheWrapper`, and the rows and options that it was planned for last.

    Planning waits for the GPU, and all layers of a step ask for the same rows.
    """

    wrapper: Any
    _lengths: Tensor | None = None
    _options: tuple[object, ...] = ()

    def make(self, lengths: Tensor, blocks: Tensor, *, size: int, **options: Any) -> None:
        """Plan for rows which see so many keys (n,), in the blocks (n, U) of `size` tokens, unless it is done."""
        wanted = (size, *sorted(options.items()))
        if lengths is self._lengths and wanted == self._options:
            return
        used = (lengths + size - 1) // size
        ends = torch.cat([used.new_zeros(1), used.cumsum(0)])
        seen = torch.arange(blocks.shape[1], device=blocks.device) < used[:, None]
        self._lengths = None  # nothing is planned if this fails
        self.wrapper.plan(
            indptr=ends.int().cpu(),
            indices=blocks[seen].int(),
            last_page_len=((lengths - 1) % size + 1).int().cpu(),
            page_size=size,
            **options,
        )
        self._lengths, self._options = lengths, wanted


def infer_totals(
    rows_plan: Callable[[], RowsPlan], attention: Any, caches: Callable[[], Sequence[Tensor]], *, size: int
) -> Totals:
    """Those that FlashInfer's decoding returns beside its output, there to the base 2.

    `attention`: vLLM's `FlashInferImpl`. `caches`: gives the keys and the values as FlashInfer lays them out, in blocks
    of `size` tokens. Each query is a sequence of its own, the last of its tokens.
    """

    def totals(query: Tensor, lengths: Tensor, blocks: Tensor) -> Tensor:
        keys, values = caches()
        plan = rows_plan()
        plan.make(
            lengths,
            blocks,
            size=size,
            num_qo_heads=query.shape[1],
            num_kv_heads=attention.num_kv_heads,
            head_dim=query.shape[2],
            window_left=attention.window_left,
            sm_scale=attention.scale,
            q_data_type=query.dtype,
            kv_data_type=keys.dtype,
        )
        _, found = plan.wrapper.run(query.contiguous(), (keys, values), return_lse=True)
        return found * math.log(2)

    return totals
