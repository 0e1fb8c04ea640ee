"""Where the plugin captures, and where it refuses to: checked once, when the engine starts."""

from collections.abc import Iterator
from typing import Any

import vllm
from vllm.platforms import current_platform

VERSIONS = ("0.32",)
MOST_OFFSETS = 64
_CACHES = ("auto", "float16", "bfloat16")  # of keys that are stored as they are


def check(config: Any) -> None:
    """Refuse what would give no weights, or wrong ones.

    Raises:
        ValueError: a version of vLLM that was not tried, or a configuration without one key cache on one device.
    """
    if ".".join(vllm.__version__.split(".")[:2]) not in VERSIONS:
        message = f"rauq-vllm knows vLLM {', '.join(VERSIONS)}, not {vllm.__version__}. Install one of these."
        raise ValueError(message)
    if faults := list(_faults(config)):
        message = f"rauq-vllm does not capture with {', '.join(faults)}. Start vLLM without, or without this connector."
        raise ValueError(message)


def _faults(config: Any) -> Iterator[str]:
    model, parallel = config.model_config, config.parallel_config
    kinds = {
        "another device than a CPU or a CUDA GPU": not (current_platform.is_cpu() or current_platform.is_cuda()),
        "tensor parallelism": parallel.tensor_parallel_size > 1,
        "pipeline parallelism": parallel.pipeline_parallel_size > 1,
        "data parallelism": parallel.data_parallel_size > 1,
        "context parallelism": parallel.decode_context_parallel_size > 1,
        "speculative decoding": config.speculative_config is not None,
        "latent attention (MLA)": model.use_mla,
        "a hybrid of attention and other layers": model.is_hybrid,
        "an encoder": model.is_encoder_decoder,
        "a quantised key cache": config.cache_config.cache_dtype not in _CACHES,
    }
    yield from (name for name, is_so in kinds.items() if is_so)
