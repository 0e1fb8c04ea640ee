"""The config of transformers for the model in a GGUF file: every entry is honoured, or the file is refused.

The arguments of the config are computed without importing transformers.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from rauq.checkpoints.gguf.architectures import ARCHITECTURES, Architecture
from rauq.checkpoints.gguf.cursor import damaged
from rauq.checkpoints.gguf.header import GgufHeader, said
from rauq.checkpoints.gguf.hyperparameters import Hyperparameters, not_exact, read_hyperparameters, real, whole
from rauq.checkpoints.gguf.rope import rope_parameters
from rauq.checkpoints.gguf.tokens import token_id

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_RELATIVE = 1e-5  # the file's constants are float32
_LOCAL_THETA = 10_000.0  # of Gemma 3's layers with a sliding window, where the file does not say


def read_config(header: GgufHeader) -> "PretrainedConfig":
    """The config of the file's model; weights are not read.

    Raises:
        UnsupportedModel: it cannot be read exactly; the message names the entry or the tensor.
        ModelNotFound: the file contradicts itself.
    """
    from transformers import AutoConfig

    options = config_options(header, read_hyperparameters(header))
    architecture = ARCHITECTURES[header.architecture]
    try:
        config = AutoConfig.for_model(architecture.model_type, architectures=[architecture.class_name], **options)
    except Exception as error:  # transformers' checks raise exceptions of any type
        raise damaged(header.path, f"transformers refuses its config ({said(str(error))})") from error
    return config


def config_options(header: GgufHeader, sizes: Hyperparameters) -> dict[str, Any]:
    """The arguments of the config's class, by the names that transformers gives them.

    Raises:
        UnsupportedModel: transformers cannot compute what the file needs; the message names the entry.
        ModelNotFound: the file contradicts itself.
    """
    architecture = ARCHITECTURES[header.architecture]
    options = _common(header, sizes)
    if architecture.has_experts:
        options |= _experts(header, architecture, sizes)
    if architecture.window_period is not None:
        options |= _gemma(header, architecture, sizes)
    return options


def _common(header: GgufHeader, sizes: Hyperparameters) -> dict[str, Any]:
    return {
        "vocab_size": sizes.vocabulary,
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.feed_forward,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.key_value_heads,
        "head_dim": sizes.head,
        "max_position_embeddings": sizes.context_length,
        "rms_norm_eps": sizes.norm_epsilon,
        "rope_parameters": dict(rope_parameters(header, sizes)),
        "tie_word_embeddings": sizes.tied,
        "bos_token_id": token_id(header, "bos_token_id"),
        "eos_token_id": token_id(header, "eos_token_id"),
        "pad_token_id": token_id(header, "padding_token_id"),
    }


def _experts(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> dict[str, Any]:
    stated = header.get(f"{header.architecture}.expert_weights_norm", bool)
    usual = architecture.model_type == "qwen3_moe"  # as llama.cpp computes them
    options = {
        "num_experts": sizes.experts,
        "num_experts_per_tok": sizes.experts_used,
        "moe_intermediate_size": sizes.expert_feed_forward,
        "norm_topk_prob": usual if stated is None else stated,
    }
    if sizes.shared_feed_forward:
        options["shared_expert_intermediate_size"] = sizes.shared_feed_forward
    return options


def _gemma(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> dict[str, Any]:
    """Sliding windows, softcaps and the scale of attention of Gemma 2 and 3."""
    name = header.architecture
    options: dict[str, Any] = {
        "sliding_window": whole(header, "attention.sliding_window", default=architecture.window),
        "layer_types": _layer_types(header, architecture, sizes),
        "query_pre_attn_scalar": _query_scalar(header, architecture, sizes),
    }
    for cap in ("attn_logit_softcapping", "final_logit_softcapping"):
        if f"{name}.{cap}" in header.metadata:
            options[cap] = real(header, cap)
    if name == "gemma3":
        local = real(header, "rope.freq_base_swa", default=_LOCAL_THETA)
        options["rope_parameters"] = {
            "full_attention": dict(rope_parameters(header, sizes)),
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
        }
    return options


def _layer_types(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> list[str]:
    """Which layers have a window: all but the last of every period, or what the file lists layer by layer."""
    key = f"{header.architecture}.attention.sliding_window_pattern"
    stated = header.metadata.get(key)
    if isinstance(stated, np.ndarray):
        if stated.dtype != bool or len(stated) != sizes.layers:
            raise not_exact(header, key)
        windowed = stated.tolist()
    else:
        period = whole(header, "attention.sliding_window_pattern", default=architecture.window_period)
        windowed = [(layer + 1) % period != 0 for layer in range(sizes.layers)]
    return ["sliding_attention" if window else "full_attention" for window in windowed]


def _query_scalar(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> int:
    """What queries are divided by the square root of; the two largest models have their own."""
    by_width = sizes.layers == architecture.scale_by_width_at
    usual = sizes.hidden // sizes.heads if by_width else sizes.head
    squared = real(header, "attention.scale", default=usual**-0.5) ** -2
    if abs(squared - round(squared)) > _RELATIVE * squared:
        raise not_exact(header, f"{header.architecture}.attention.scale")
    return round(squared)
