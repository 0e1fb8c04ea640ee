"""The config of transformers for the model in a GGUF file: every entry is supported, or the file is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rauq.checkpoints.gguf.architectures import (
    ARCHITECTURES,
    OUTPUT,
    ROPE_FACTORS,
    Architecture,
    required_tensors,
    tensor_dimensions,
)
from rauq.checkpoints.gguf.header import GgufHeader, GgufTensor, Strings, damaged, said
from rauq.checkpoints.gguf.tokenizer import token_id
from rauq.errors import UnsupportedModel

if TYPE_CHECKING:
    from rauq.transformers_api import PreTrainedConfig


_LARGEST = 2**31 - 1
_SOFTMAX = 1  # llama.h, enum llama_expert_gating_func_type
_RELATIVE = 1e-5  # between a constant of the file, in float32, and what the architecture has


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The model's sizes according to the header; sizes of parts that it does not have are 0."""

    context_length: int
    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    head: int
    vocabulary: int
    norm_epsilon: float
    feed_forward: int
    experts: int
    experts_used: int
    expert_feed_forward: int
    shared_feed_forward: int
    tied: bool

    @property
    def queries(self) -> int:
        """The size of all queries of a token."""
        return self.heads * self.head

    @property
    def keys(self) -> int:
        """The size of all keys of a token, and of all values."""
        return self.key_value_heads * self.head

    @property
    def rotations(self) -> int:
        """How many frequencies the position embedding has."""
        return self.head // 2


def find_architecture(header: GgufHeader) -> Architecture:
    """The architecture of a file that holds a language model.

    Raises:
        UnsupportedModel: it holds something else, or an architecture that is not known here.
    """
    kind = header.get("general.type", str) or "model"
    if kind != "model" or header.architecture == "clip" or header.path.name.startswith("mmproj-"):
        what = "an image projector" if kind in {"model", "mmproj"} else said(kind)
        message = f"{header.path} holds {what}, not a language model. Give the file of the language model."
        raise UnsupportedModel(message)
    architecture = ARCHITECTURES.get(header.architecture)
    if architecture is None:
        known = ", ".join(ARCHITECTURES)
        message = (
            f"{header.path} has the architecture {said(header.architecture)}, which cannot be read exactly from GGUF. "
            f"Supported: {known}. Use the same model in safetensors format."
        )
        raise UnsupportedModel(message)
    return architecture


def read_hyperparameters(header: GgufHeader) -> Hyperparameters:
    """The sizes of the model.

    Raises:
        UnsupportedModel: an architecture, an entry or a tensor that is not understood; the message names it.
        ModelNotFound: entries and tensors contradict each other, or some are missing.
    """
    architecture = find_architecture(header)
    for key in header.metadata:
        prefix, _, name = key.partition(".")
        if prefix == header.architecture and name not in architecture.supported:
            raise not_exact(header, key)
    sizes = _sizes(header, architecture)
    _check_constants(header, architecture, sizes)
    _check_tensors(header, architecture, sizes)
    return sizes


def not_exact(header: GgufHeader, key: str) -> UnsupportedModel:
    """The error for an entry or a tensor that changes the model in a way not known here."""
    return UnsupportedModel(
        f"{header.path} cannot be read exactly: {said(key)} is not supported as this file has it, and ignoring it "
        "would change the model's results. Use the same model in safetensors format."
    )


def whole(header: GgufHeader, name: str, *, default: int | None = None) -> int:
    """A size of the architecture, at least 1; a list counts as its value where all are the same.

    Raises:
        ModelNotFound: it is missing without a default, or no such size.
        UnsupportedModel: it differs from layer to layer.
    """
    key = f"{header.architecture}.{name}"
    value = header.metadata.get(key, default)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and len(value):
        if (value != value[0]).any():
            raise not_exact(header, key)
        value = int(value[0])
    if value is None or isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
        raise damaged(header.path, f"{said(key)} is missing or is not a positive whole number")
    return value


def real(header: GgufHeader, name: str, *, default: float | None = None) -> float:
    """A positive constant of the architecture.

    Raises:
        ModelNotFound: it is missing without a default, or not positive and finite.
    """
    key = f"{header.architecture}.{name}"
    value = header.get(key, float)
    value = default if value is None else value
    if value is None or not isfinite(value) or value <= 0:
        raise damaged(header.path, f"{said(key)} is missing or is not a positive number")
    return value


def _sizes(header: GgufHeader, architecture: Architecture) -> Hyperparameters:
    hidden, heads = whole(header, "embedding_length"), whole(header, "attention.head_count")
    mixture = architecture.has_experts
    shared = "expert_shared_feed_forward_length" in architecture.entries
    return Hyperparameters(
        context_length=whole(header, "context_length"),
        layers=whole(header, "block_count"),
        hidden=hidden,
        heads=heads,
        key_value_heads=whole(header, "attention.head_count_kv", default=heads),
        head=whole(header, "attention.key_length", default=max(hidden // heads, 1)),
        vocabulary=len(header.get("tokenizer.ggml.tokens", Strings) or ()),
        norm_epsilon=real(header, "attention.layer_norm_rms_epsilon"),
        feed_forward=whole(header, "feed_forward_length", default=1 if mixture else None),
        experts=whole(header, "expert_count") if mixture else 0,
        experts_used=whole(header, "expert_used_count") if mixture else 0,
        expert_feed_forward=whole(header, "expert_feed_forward_length") if mixture else 0,
        shared_feed_forward=whole(header, "expert_shared_feed_forward_length") if shared else 0,
        tied=all(tensor.name != OUTPUT for tensor in header.tensors),
    )


def _check_constants(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> None:
    """Entries that are supported at only one value: the one that transformers computes with."""
    for name, expected in (
        ("attention.value_length", sizes.head),
        ("rope.dimension_count", sizes.head),
        ("vocab_size", sizes.vocabulary),
    ):
        if whole(header, name, default=expected) != expected:
            raise not_exact(header, f"{header.architecture}.{name}")
    if sizes.head % 2:
        raise damaged(header.path, f"its heads have {sizes.head} dimensions, an odd number")
    if header.get(f"{header.architecture}.attention.causal", bool) is False:
        raise not_exact(header, f"{header.architecture}.attention.causal")
    if architecture.has_experts and whole(header, "expert_gating_func", default=_SOFTMAX) != _SOFTMAX:
        raise not_exact(header, f"{header.architecture}.expert_gating_func")
    if architecture.scale_by_width_at is None:
        usual = sizes.head**-0.5
        if abs(real(header, "attention.scale", default=usual) - usual) > _RELATIVE * usual:
            raise not_exact(header, f"{header.architecture}.attention.scale")


def _check_tensors(header: GgufHeader, architecture: Architecture, sizes: Hyperparameters) -> None:
    for tensor in header.tensors:
        names = tensor_dimensions(tensor.name, architecture, layers=sizes.layers)
        if names is None:
            raise not_exact(header, tensor.name)
        expected = tuple(getattr(sizes, name) for name in names)
        if tensor.shape != expected:
            raise damaged(header.path, f"the tensor {said(tensor.name)} has the shape {tensor.shape}, not {expected}")
    present = {tensor.name for tensor in header.tensors}
    if len(present) < len(architecture.layer) * sizes.layers:  # before a list of absurdly many names is made
        raise damaged(header.path, f"it has {len(present)} tensors, too few for {sizes.layers} layers")
    if missing := [name for name in required_tensors(architecture, layers=sizes.layers) if name not in present]:
        raise damaged(header.path, f"it lacks the tensor {missing[0]} ({len(missing)} missing in all)")


RopeParameters = Mapping[str, str | float | int]

_THETA = 10_000.0  # llama.cpp's, where the file does not say
_CLOSE = 1e-4  # relative: factors are float32, and were computed in it
_LLAMA3: RopeParameters = MappingProxyType(
    {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
)


def rope_parameters(header: GgufHeader, sizes: Hyperparameters) -> RopeParameters:
    """The `rope_parameters` of the config, rope_theta included.

    Raises:
        UnsupportedModel: transformers cannot compute it; the message names the entry.
        ModelNotFound: the entries are not valid.
    """
    theta = {"rope_theta": real(header, "rope.freq_base", default=_THETA)}
    factors = next((tensor for tensor in header.tensors if tensor.name == ROPE_FACTORS), None)
    scaling = _scaling(header, sizes)
    if factors is None:
        return theta | scaling
    if scaling["rope_type"] != "default":
        raise not_exact(header, ROPE_FACTORS)
    return theta | _llama3(header, factors, theta["rope_theta"])


def llama3_factors(*, theta: float, head: int, factor: float) -> np.ndarray:
    """By what Llama 3.1 and 3.2 divide each frequency: (head / 2,), 1 for fast ones and `factor` for slow ones.

    Source: `rope_scaling` of the models' config.json, type llama3; llama.cpp's converter writes the same numbers.
    """
    wavelengths = 2 * np.pi * theta ** (np.arange(0, head, 2) / head)
    context, low, high = 8192, 1.0, 4.0
    smooth = (context / wavelengths - low) / (high - low)
    between = 1 / ((1 - smooth) / factor + smooth)
    return np.where(wavelengths < context / high, 1.0, np.where(wavelengths > context / low, factor, between))


def _scaling(header: GgufHeader, sizes: Hyperparameters) -> dict[str, str | float | int]:
    """From `rope.scaling.*`; a factor without a type is linear, as in llama.cpp."""
    prefix = f"{header.architecture}.rope.scaling"
    factor = real(header, "rope.scaling.factor", default=real(header, "rope.scale_linear", default=1.0))
    kind = header.get(f"{prefix}.type", str) or "linear"
    if kind not in {"none", "linear", "yarn"}:
        raise not_exact(header, f"{prefix}.type")
    for name in ("attn_factor", "yarn_attn_factor", "yarn_ext_factor"):
        if real(header, f"rope.scaling.{name}", default=1.0) != 1:
            raise not_exact(header, f"{prefix}.{name}")
    if kind == "none" or factor == 1:
        return {"rope_type": "default"}
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor}
    exact: dict[str, str | float | int] = {"truncate": False} if header.architecture == "gpt-oss" else {}  # its config
    return exact | {
        "rope_type": "yarn",
        "factor": factor,
        "original_max_position_embeddings": whole(
            header, "rope.scaling.original_context_length", default=sizes.context_length
        ),
        "beta_fast": real(header, "rope.scaling.yarn_beta_fast", default=32.0),
        "beta_slow": real(header, "rope.scaling.yarn_beta_slow", default=1.0),
    }


def _llama3(header: GgufHeader, tensor: GgufTensor, theta: float) -> dict[str, str | float | int]:
    """From the factors of every frequency: those of Llama 3.1 and 3.2 are known by their values."""
    if tensor.storage.name != "F32":
        raise not_exact(header, ROPE_FACTORS)
    stored = np.frombuffer(header.read(tensor.start, tensor.num_bytes), "<f4").astype(float)
    if len(stored) != tensor.num_elements:
        raise damaged(header.path, f"{ROPE_FACTORS} is cut short")
    factor = float(stored.max())
    if not isfinite(factor):
        raise not_exact(header, ROPE_FACTORS)
    if np.array_equal(stored, np.ones_like(stored)):
        return {"rope_type": "default"}
    expected = llama3_factors(theta=theta, head=2 * len(stored), factor=factor)
    if not np.allclose(stored, expected, rtol=_CLOSE, atol=0):
        raise not_exact(header, ROPE_FACTORS)
    return {"rope_type": "llama3", "factor": factor, **_LLAMA3}


_LOCAL_THETA = 10_000.0  # of Gemma 3's layers with a sliding window, where the file does not say


def read_config(header: GgufHeader) -> "PreTrainedConfig":
    """The config of the file's model; weights are not read.

    Raises:
        UnsupportedModel: it cannot be read exactly; the message names the entry or the tensor.
        ModelNotFound: the file contradicts itself.
    """
    from rauq.transformers_api import AutoConfig

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
        options |= {
            "sliding_window": whole(header, "attention.sliding_window", default=architecture.window),
            "layer_types": _layer_types(header, architecture, sizes),
        }
    if architecture.scale_by_width_at is not None:
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
    if architecture.model_type == "gpt_oss":
        return {
            "num_local_experts": sizes.experts,
            "num_experts_per_tok": sizes.experts_used,
            "intermediate_size": sizes.expert_feed_forward,
        }
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
    """Softcaps, the scale of attention and the position embedding of windows of Gemma 2 and 3."""
    name = header.architecture
    options: dict[str, Any] = {"query_pre_attn_scalar": _query_scalar(header, architecture, sizes)}
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
