"""Attention weights for RAUQ out of a vLLM server, without a patch of vLLM.

A subclass of vLLM's attention backend computes the weights (`attention`) of the rows that a request asked for (`plan`),
and compares the output that follows from them with the layer's own (`check`); a logits processor that changes nothing
reads the entropies; a KV connector that moves no keys says which rows these are, and returns them with the finished
request.
"""

from rauq_vllm.stream import agree_on_folder


def register() -> None:
    """Put the capturing backend in place of vLLM's own; vLLM calls this in each of its processes."""
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    agree_on_folder()
    register_backend(AttentionBackendEnum.CPU_ATTN, "rauq_vllm.backend.CPUBackend")
    register_backend(AttentionBackendEnum.FLASH_ATTN, "rauq_vllm.backend.FlashBackend")
    register_backend(AttentionBackendEnum.FLASHINFER, "rauq_vllm.infer_backend.InferBackend")
