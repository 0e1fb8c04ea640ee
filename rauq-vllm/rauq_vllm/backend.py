"""vLLM's attention, which also shows the connector what a layer computed: on a CPU, and by FlashAttention on a GPU.

The second has not been tried; what a layer gives is compared with its kernel's (`rauq_vllm.check`).
"""

from typing import Any

from torch import Tensor
from vllm.distributed.kv_transfer import get_kv_transfer_group, has_kv_transfer_group
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend, CPUAttentionBackendImpl
from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend, FlashAttentionImpl

from rauq_vllm.check import LayerStep


class CapturingAttention:
    """The attention of one layer, as vLLM computes it."""

    @staticmethod
    def caches(kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """The blocks (blocks, G, B, D) of keys and of values."""
        raise NotImplementedError

    @property
    def window(self) -> int:
        """How many keys a query sees, its own included; 0: all before it."""
        raise NotImplementedError

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
        found: Tensor = super().forward(  # type: ignore[misc]  # vLLM's class stands behind this one
            layer, query, key, value, kv_cache, attn_metadata, output, *rest, **options
        )
        if attn_metadata is not None and has_kv_transfer_group():
            note = getattr(get_kv_transfer_group(), "note_attention", None)  # another connector has none
            if note is not None:
                note(layer.layer_name, LayerStep(query, key, value, *self.caches(kv_cache), output, attn_metadata))
        return found


class CapturingOnCPU(CapturingAttention, CPUAttentionBackendImpl):
    """That of a CPU: the keys of a block, and then its values."""

    @staticmethod
    def caches(kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, which the kernel may have stored in columns."""
        blocks, heads, size, _ = kv_cache.shape
        keys, values = kv_cache.view(blocks, heads, 2 * size, -1).chunk(2, dim=2)
        return keys, values

    @property
    def window(self) -> int:
        """As vLLM names it, -1 where there is none."""
        return max(0, self.sliding_window)


class CapturingFlash(CapturingAttention, FlashAttentionImpl):
    """That of FlashAttention: every key beside its value."""

    @staticmethod
    def caches(kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, in rows."""
        keys, values = kv_cache.chunk(2, dim=-1)
        return keys, values

    @property
    def window(self) -> int:
        """As FlashAttention counts it, without the query's own key; -1 where there is none."""
        return max(0, self.sliding_window[0] + 1)


class CPUBackend(CPUAttentionBackend):
    """The backend that vLLM finds in place of its own for CPUs."""

    @staticmethod
    def get_impl_cls() -> type[CPUAttentionBackendImpl]:
        """The attention of one layer."""
        return CapturingOnCPU


class FlashBackend(FlashAttentionBackend):
    """The backend that vLLM finds in place of its own FlashAttention."""

    @staticmethod
    def get_impl_cls() -> type[FlashAttentionImpl]:
        """The attention of one layer."""
        return CapturingFlash
