"""vLLM's FlashInfer, which also shows the connector what a layer computed. It has not been tried on a GPU.

What vLLM notes of a batch for FlashInfer has neither the lengths of sequences nor their blocks, so they are added.
"""

from functools import cached_property
from typing import Any

import torch
from flashinfer import BatchDecodeWithPagedKVCacheWrapper
from torch import Tensor
from vllm.utils.torch_utils import canonicalize_singleton_dim_strides
from vllm.v1.attention.backends.flashinfer import (
    FlashInferBackend,
    FlashInferImpl,
    FlashInferMetadataBuilder,
    FlashInferTrtllmAPIDecode,
)
from vllm.v1.attention.backends.utils import get_flashinfer_layout_string

from rauq_vllm.backend import PairedCache
from rauq_vllm.kernel import RowsPlan, Totals, infer_totals

_WORKSPACE = 2**27  # bytes, FlashInfer's own recommendation


class CapturingBuilder(FlashInferMetadataBuilder):
    """The notes of a batch, with what says where a row's keys are, and with a plan for the rows that are captured."""

    @cached_property
    def rows_plan(self) -> RowsPlan:
        """Of a workspace of its own: the one of the layers is in use between their plan and their run."""
        workspace = torch.zeros(_WORKSPACE, dtype=torch.uint8, device=self.device)
        layout = get_flashinfer_layout_string(self.kv_cache_layout)
        return RowsPlan(BatchDecodeWithPagedKVCacheWrapper(workspace, layout, use_tensor_cores=True))

    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> Any:  # noqa: FBT001, FBT002 - vLLM's own
        """FlashInfer's notes of a batch, and those that FlashAttention's have."""
        built: Any = super().build(common_prefix_len, common_attn_metadata, fast_build)
        built.query_start_loc = common_attn_metadata.query_start_loc
        built.seq_lens = common_attn_metadata.seq_lens
        built.block_table = common_attn_metadata.block_table_tensor
        built.rows_plan = lambda: self.rows_plan
        return built


class CapturingFlashInfer(PairedCache, FlashInferImpl):
    """FlashInfer, with the sums of its softmaxes where it gives them."""

    def totals(self, keys: Tensor, values: Tensor, batch: Any) -> Totals | None:
        """The kernel's own; None where it rounds logits (a soft cap), leaves sinks out, or would have to be compiled.

        vLLM decodes by another kernel on some GPUs, and then this one has not been compiled yet.
        """
        rows_plan = getattr(batch, "rows_plan", None)  # a copy that vLLM makes of its notes has none
        is_another = isinstance(batch.decode, FlashInferTrtllmAPIDecode)
        if self.logits_soft_cap or self.sinks is not None or is_another or rows_plan is None:
            return None
        order = batch.kv_cache_layout.layer_view_order

        def caches() -> list[Tensor]:
            return [canonicalize_singleton_dim_strides(cache.permute(*order)) for cache in (keys, values)]

        return infer_totals(rows_plan, self, caches, size=keys.shape[2])


class InferBackend(FlashInferBackend):
    """The backend that vLLM finds in place of its own FlashInfer."""

    @staticmethod
    def get_impl_cls() -> type[FlashInferImpl]:
        """The attention of one layer."""
        return CapturingFlashInfer

    @staticmethod
    def get_builder_cls() -> type[FlashInferMetadataBuilder]:
        """What notes a batch."""
        return CapturingBuilder
