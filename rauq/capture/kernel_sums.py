"""The logarithms of the softmaxes' sums out of the kernel by which torch computes attention on a CPU.

With these, a weight is one product of query and key: the other keys are not read once more. The kernel is the one that
`scaled_dot_product_attention` chooses by itself, with its arguments, so that the output has the same bits.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

_INPUTS = ("query", "key", "value")  # by position; a call that gives more so, or fewer, is left as it is
_FLASH = 1  # torch.nn.attention.SDPBackend.FLASH_ATTENTION
_SHORT = 1536  # keys, which are read again in less time than the kernel is asked


class KernelSums(TorchFunctionMode):
    """While it is entered, `logarithm` (B * H * n,) is that of the last call for n queries without a mask in float32.

    None if another kernel is used, or if there was no such call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.logarithm: Tensor | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        is_attention = func is scaled_dot_product_attention and len(args) == len(_INPUTS)
        if is_attention and _is_plain(*args, **options):
            output, logarithm = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001 - only this returns them
                *args, scale=options.get("scale")
            )
            self.logarithm = logarithm.reshape(-1)
            return output
        return func(*args, **options)


def _is_plain(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> bool:
    """Whether a call has no mask and no dropout, and torch gives it to this kernel."""
    given = any(options.get(name) for name in ("dropout_p", "is_causal")) or options.get("attn_mask") is not None
    if given or query.dtype != torch.float32:
        return False
    chosen = torch._fused_sdp_choice(  # noqa: SLF001 - what `scaled_dot_product_attention` asks
        query, key, value, scale=options.get("scale"), enable_gqa=options.get("enable_gqa", False)
    )
    return query.device.type == "cpu" and chosen == _FLASH


def with_sums(call: Callable[[], Any], key: Tensor) -> tuple[Any, Tensor | None]:
    """What an attention call gives, and the logarithms (B * H,) of its sums; None where they are not to be had.

    `key` (B, H_kv, T, D): few keys are read again instead.
    """
    if key.shape[2] < _SHORT or key.device.type != "cpu":
        return call(), None
    with KernelSums() as sums:
        return call(), sums.logarithm
