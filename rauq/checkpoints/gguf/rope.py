"""How a GGUF file's model turns positions into angles, as `rope_parameters` of transformers.

transformers ignores `rope.scaling` and `rope_freqs.weight` of nearly every architecture. Here they are honoured where
transformers can compute the same, and refused by name where it cannot.
"""

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType

import numpy as np

from rauq.checkpoints.gguf.architectures import ROPE_FACTORS
from rauq.checkpoints.gguf.cursor import damaged
from rauq.checkpoints.gguf.header import GgufHeader, GgufTensor
from rauq.checkpoints.gguf.hyperparameters import Hyperparameters, not_exact, real, whole

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
    return {
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
