"""Sizes and constants of the model in a GGUF file, checked against its tensors; what is not understood is refused."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from rauq.checkpoints.gguf.architectures import ARCHITECTURES, OUTPUT, Architecture, required_tensors, tensor_dimensions
from rauq.checkpoints.gguf.cursor import Strings, damaged
from rauq.checkpoints.gguf.header import GgufHeader, said
from rauq.errors import UnsupportedModel

_LARGEST = 2**31 - 1
_SOFTMAX = 1  # llama.h, enum llama_expert_gating_func_type
_RELATIVE = 1e-5  # between a constant of the file, in float32, and what the architecture has


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What the header says of the model's sizes; sizes of parts that it does not have are 0."""

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
        if prefix == header.architecture and name not in architecture.honoured:
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
    """Entries that can be honoured at one value alone: the one that transformers computes with."""
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
