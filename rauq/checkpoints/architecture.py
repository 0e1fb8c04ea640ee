"""A checkpoint's config without the settings of the run that trained it, and its language model without weights."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from rauq.checkpoints.folders import CONFIG
from rauq.transformers_api import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMultimodalLM,
    PreTrainedConfig,
    PreTrainedModel,
)

# How a run computed, on its machine: none of these changes what the model is.
_RUN_SETTINGS = frozenset(
    f"{start}{name}{end}"
    for name in ("attn_implementation", "experts_implementation")
    for start in ("", "_")
    for end in ("", "_internal")
) | {"return_dict", "use_return_dict", "device_map", "fusion_config"}
_DTYPES = ("dtype", "torch_dtype")
_OF_WEIGHTS = frozenset({"quantization_config", "compression_config"})  # how they are stored, dtypes included


def read_config(source: str, where: dict[str, Any]) -> PreTrainedConfig:
    """The config of a folder or of a model on the hub, without the settings of a training run.

    Any error of transformers means that it is damaged, or that no model of this kind is known.
    """
    given, _ = PreTrainedConfig.get_config_dict(source, **where)
    kept = _without_run_settings(given)
    if kept == given:
        config: PreTrainedConfig = AutoConfig.from_pretrained(source, **where)
        return config
    with TemporaryDirectory() as folder:  # transformers takes a config from a file alone
        (Path(folder) / CONFIG).write_text(json.dumps(kept), encoding="utf-8")
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    config.name_or_path = source
    return config


def language_model(config: PreTrainedConfig) -> PreTrainedModel:
    """The causal language model of a config, with shapes but no weights; without towers for images or sound.

    Raises:
        ValueError: the config is not of a causal language model.
    """
    is_causal = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING or type(config) not in MODEL_FOR_MULTIMODAL_LM_MAPPING
    auto = AutoModelForCausalLM if is_causal else AutoModelForMultimodalLM
    with torch.device("meta"):
        model: PreTrainedModel = auto.from_config(copy.deepcopy(config), trust_remote_code=False)
        if not _towers(model):
            return model
        without: PreTrainedModel = _without_towers(type(model))._from_config(model.config)  # noqa: SLF001 - what
        return without  # from_config calls


def has_other_parts(config: PreTrainedConfig) -> bool:
    """Whether a model of this config has parts for more than text, such as images."""
    return bool(set(type(config).sub_configs) - {"text_config"})


def _without_run_settings(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {
        name: value if name in _OF_WEIGHTS else _kept(name, value)
        for name, value in given.items()
        if name not in _RUN_SETTINGS and not _is_unusable(name, value, given)
    }


def _kept(name: str, value: Any) -> Any:
    if name in _DTYPES and isinstance(value, str):
        return value.removeprefix("torch.")
    return _without_run_settings(value)


def _is_unusable(name: str, value: Any, config: dict[str, Any]) -> bool:
    """Whether a setting cannot be used: an unknown dtype or token, a file of pickled weights, or an empty one."""
    if name in _DTYPES and isinstance(value, str):
        return not isinstance(getattr(torch, value.removeprefix("torch."), None), torch.dtype)
    if name == "pad_token_id" and isinstance(value, int):
        return value < 0 or value >= config.get("vocab_size", value + 1)
    if name == "transformers_weights":  # transformers would read a pickled file of one of these names
        return not str(value).endswith((".safetensors", ".safetensors.index.json"))
    return name == "quantization_config" and value == {}


def _towers(model: PreTrainedModel) -> list[str]:
    """Names of the models beside the decoder in a composite model, such as the one that encodes images."""
    if model.config.get_text_config(decoder=True) is model.config:
        return []
    decoder = model.get_decoder()
    found = next((name for name, part in model.named_modules() if part is decoder), "")
    return list(_beside(model, found.split(".")))


def _beside(model: PreTrainedModel, path: list[str]) -> Iterator[str]:
    for depth, step in enumerate(path):
        above = path[:depth]
        for name, part in model.get_submodule(".".join(above)).named_children():
            if name != step and isinstance(part, PreTrainedModel):
                yield ".".join((*above, name))


def _without_towers(whole: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The same class of model, which makes and reads no weights of what stands beside its decoder."""

    def make(self: Any, config: PreTrainedConfig, *args: Any, **options: Any) -> None:
        whole.__init__(self, config, *args, **options)
        for tower in _towers(self):
            above, _, name = tower.rpartition(".")
            setattr(self.get_submodule(above), name, None)
            self._keys_to_ignore_on_load_unexpected |= {rf"^{tower}\."}

    made: type[PreTrainedModel] = type(whole.__name__, (whole,), {"__init__": make, "__module__": whole.__module__})
    return made
