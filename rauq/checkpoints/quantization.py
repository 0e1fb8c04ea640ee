"""Quantise the weights of a model while it is loaded, by torchao or bitsandbytes."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import torch

from rauq.errors import InvalidInput, MissingPackage, UnsupportedModel
from rauq.transformers_api import AUTO_QUANTIZATION_CONFIG_MAPPING, BitsAndBytesConfig, TorchAoConfig

_OTHERS = "Choose the model without quantisation, or a GGUF file of it."


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """One way to quantise: the package that does it, and what transformers is given for a dtype of the computation."""

    package: str
    config: Callable[[torch.dtype | None], Any]


def _int8(_dtype: torch.dtype | None) -> TorchAoConfig:
    from torchao.quantization import Int8WeightOnlyConfig

    return TorchAoConfig(Int8WeightOnlyConfig())


def _int4(dtype: torch.dtype | None) -> BitsAndBytesConfig:
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)


def _dynamic_int8(_dtype: torch.dtype | None) -> TorchAoConfig:
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig

    return TorchAoConfig(Int8DynamicActivationInt8WeightConfig())


def _llm_int8(_dtype: torch.dtype | None) -> BitsAndBytesConfig:
    return BitsAndBytesConfig(load_in_8bit=True)


SCHEMES = MappingProxyType(
    {
        "int8": Scheme(package="torchao", config=_int8),
        "int4": Scheme(package="bitsandbytes", config=_int4),
        "dynamic-int8": Scheme(package="torchao", config=_dynamic_int8),
        "llm-int8": Scheme(package="bitsandbytes", config=_llm_int8),
    }
)
"""int8 and int4 (NF4) round weights alone; dynamic-int8 and llm-int8 round activations too."""


def check_quantization(name: str | None) -> None:
    """Check that a scheme is known and its package here, before anything is read.

    Raises:
        InvalidInput: unknown scheme.
        MissingPackage: its package is not installed.
    """
    if name is None:
        return
    if name not in SCHEMES:
        message = f"Unknown quantization {name!r}; choose one of {', '.join(SCHEMES)}, or None."
        raise InvalidInput(message)
    if find_spec(package := SCHEMES[name].package) is None:
        message = f"Quantization {name!r} needs {package}: pip install -r requirements-quantization.txt"
        raise MissingPackage(message)


def refuse_unknown_scheme(source: str, config: Any) -> None:
    """Refuse a checkpoint that is quantised in a way that transformers passes over, as if its weights were whole.

    Raises:
        UnsupportedModel: it is.
    """
    fields = getattr(config, "quantization_config", None) or getattr(config, "quantization", None)
    if not isinstance(fields, dict) or fields.get("load_in_8bit") or fields.get("load_in_4bit"):
        return
    method = fields.get("quant_method") or ("MLX" if "group_size" in fields else "")
    if not method:
        message = f"{source} has a quantization_config without quant_method, so its weights cannot be read. {_OTHERS}"
        raise UnsupportedModel(message)
    if method not in AUTO_QUANTIZATION_CONFIG_MAPPING:
        message = (
            f"{source} is quantised with {method}, which transformers {version('transformers')}, installed here, "
            f"cannot read. {_OTHERS}"
        )
        raise UnsupportedModel(message)


def quantization_options(name: str | None, config: Any, *, dtype: Any) -> dict[str, Any]:
    """What `from_pretrained` is given, so that it quantises a checkpoint of this config; nothing without a scheme.

    Raises:
        UnsupportedModel: the checkpoint is quantised already.
    """
    if name is None:
        return {}
    if getattr(config, "quantization_config", None) is not None:
        message = f"Got quantization={name!r} for a checkpoint that is quantised already. Leave it out."
        raise UnsupportedModel(message)
    return {"quantization_config": SCHEMES[name].config(dtype if isinstance(dtype, torch.dtype) else None)}
