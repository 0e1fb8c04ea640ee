"""vLLM's attention on a CPU, which also shows its queries and keys to the connector."""

from typing import Any

from torch import Tensor
from vllm.distributed.kv_transfer import get_kv_transfer_group, has_kv_transfer_group
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend, CPUAttentionBackendImpl


class CapturingBackend(CPUAttentionBackend):
    """The backend that vLLM finds in place of its own."""

    @staticmethod
    def get_impl_cls() -> type[CPUAttentionBackendImpl]:
        """The attention of one layer."""
        return CapturingAttention


class CapturingAttention(CPUAttentionBackendImpl):
    """The attention of one layer, as vLLM computes it."""

    def forward(  # noqa: PLR0917 - vLLM's own
        self,
        layer: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kv_cache: Tensor,
        attn_metadata: Any,
        output: Tensor,
        *rest: Any,
        **options: Any,
    ) -> Tensor:
        """Compute the layer, and then show what the weights follow from."""
        found = super().forward(layer, query, key, value, kv_cache, attn_metadata, output, *rest, **options)
        if attn_metadata is not None and has_kv_transfer_group():
            note = getattr(get_kv_transfer_group(), "note_attention", None)  # another connector has none
            if note is not None:
                blocks, heads, size, _ = kv_cache.shape
                keys = kv_cache.view(blocks, heads, 2 * size, -1)[:, :, :size]
                note(layer.layer_name, query, key, keys, attn_metadata)
        return found
