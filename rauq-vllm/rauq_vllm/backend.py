"""vLLM's attention, which also shows the connector what a layer computed: on a CPU, and by FlashAttention on a GPU.

FlashAttention has not been tried. In both, captured weights are checked by the layer's output (`rauq_vllm.check`);
those of a GPU follow from the kernel's own sums of softmaxes where these are right (`rauq_vllm.kernel`).
"""

from typing import Any

from torch import Tensor
from vllm.distributed.kv_transfer import get_kv_transfer_group, has_kv_transfer_group
from vllm.utils.torch_utils import canonicalize_singleton_dim_strides
from vllm.v1.attention.backends import flash_attn
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend, CPUAttentionBackendImpl
from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend, FlashAttentionImpl

from rauq_vllm.check import LayerStep
from rauq_vllm.kernel import Totals, flash_totals


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

    def totals(self, keys: Tensor, values: Tensor, batch: Any) -> Totals | None:
        """The kernel's sums of softmaxes over the keys of these caches, if it gives them."""
        del keys, values, batch
        return None

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
        found: Tensor = super().forward(  # type: ignore[misc]  # of vLLM's class, the other base of each subclass
            layer, query, key, value, kv_cache, attn_metadata, output, *rest, **options
        )
        if attn_metadata is not None and has_kv_transfer_group():
            note = getattr(get_kv_transfer_group(), "note_attention", None)  # another connector has none
            if note is not None:
                keys, values = self.caches(kv_cache)
                totals = self.totals(keys, values, attn_metadata)
                note(layer.layer_name, LayerStep(query, key, value, keys, values, output, attn_metadata, totals))
        return found


class CapturingCPUAttention(CapturingAttention, CPUAttentionBackendImpl):
    """Attention on a CPU, whose cache has the keys of a block before its values."""

    @staticmethod
    def caches(kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, each in either layout (`rauq_vllm.attention.LAYOUTS`)."""
        blocks, heads, size, _ = kv_cache.shape
        keys, values = kv_cache.view(blocks, heads, 2 * size, -1).chunk(2, dim=2)
        return keys, values

    @property
    def window(self) -> int:
        """The number of vLLM, which is -1 where there is no window."""
        return max(0, self.sliding_window)


class PairedCache(CapturingAttention):
    """Attention whose cache has each key beside its value, as that of FlashAttention and FlashInfer."""

    sliding_window: tuple[int, int]

    @staticmethod
    def caches(kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, one token in each row."""
        keys, values = kv_cache.chunk(2, dim=-1)
        return keys, values

    @property
    def window(self) -> int:
        """The kernel's number and the query's own key; its number is -1 where there is no window."""
        return max(0, self.sliding_window[0] + 1)


class CapturingFlashAttention(PairedCache, FlashAttentionImpl):
    """FlashAttention, with the sums of its softmaxes where it gives them."""

    def totals(self, keys: Tensor, values: Tensor, batch: Any) -> Totals | None:
        """The kernel's own; None where it rounds logits (a soft cap), or is compiled once more for them (version 4)."""
        del batch
        if self.logits_soft_cap or self.vllm_flash_attn_version not in (2, 3):
            return None

        def caches() -> list[Tensor]:
            return [canonicalize_singleton_dim_strides(cache.transpose(1, 2)) for cache in (keys, values)]

        return flash_totals(flash_attn.flash_attn_varlen_func, self, caches)


class CPUBackend(CPUAttentionBackend):
    """The backend that vLLM finds in place of its own for CPUs."""

    @staticmethod
    def get_impl_cls() -> type[CPUAttentionBackendImpl]:
        """The attention of one layer."""
        return CapturingCPUAttention


class FlashBackend(FlashAttentionBackend):
    """The backend that vLLM finds in place of its own FlashAttention."""

    @staticmethod
    def get_impl_cls() -> type[FlashAttentionImpl]:
        """The attention of one layer."""
        return CapturingFlashAttention
