"""Adapters of PEFT, in a folder of their own or beside a model: found, named, and applied to the model's weights.

An adapter is never ignored: the results would be those of the base model.
"""

import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from safetensors import safe_open

from rauq.checkpoints.folders import ADAPTER_CONFIG, looks_like_path
from rauq.checkpoints.hub import is_folder, is_there, not_there, require_safetensors
from rauq.checkpoints.named import ATLAS, file_of, find_named
from rauq.checkpoints.refusals.weights_files import has_own_weights
from rauq.checkpoints.weights import stored_file
from rauq.errors import MissingPackage, UnsupportedModel
from rauq.transformers_api import PreTrainedModel

ADAPTER_WEIGHTS = "adapter_model.safetensors"
_TOKENIZERS = ("tokenizer_config.json", "tokenizer.json")
_COPY = re.compile(r"\.(modules_to_save|original_module)(?=\.)")  # PEFT may store embeddings a second time
_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """An adapter whose weights were not read yet, with the fields of its config.

    `source` and `where` say where it is, as those of a `Checkpoint` do; `commit` is "local" for a folder. `base` is the
    folder, GGUF file or hub id of the model that it is applied to, and is empty where that is in the same place.
    """

    source: str
    where: Mapping[str, Any]
    commit: str
    fields: Mapping[str, Any]
    base: str

    def __str__(self) -> str:
        """Its name and method, and the model that it is applied to: paths by their last part."""
        base = f" on {_short(self.base)}" if self.base else ""
        return f"{_short(self.source)} ({_method(self.fields['peft_type'])}{base})"

    @property
    def has_tokenizer(self) -> bool:
        """Whether it brings a tokenizer to a base that is elsewhere."""
        return bool(self.base) and any(stored_file(self.source, name, self.where) is not None for name in _TOKENIZERS)


def find_adapter(source: str, where: dict[str, Any]) -> Adapter | None:
    """The adapter in a folder or hub model, alone or beside the weights of a model; None: there is none.

    Raises:
        UnsupportedModel: it is not whole, is a prompt, or names no base model.
        MissingPackage: PEFT is not installed.
    """
    config = stored_file(source, ADAPTER_CONFIG, where)
    if config is None and not is_folder(source):
        return None
    has_weights = is_there(source, ADAPTER_WEIGHTS, where)
    if config is None and not has_weights:
        return None
    if not has_weights and where["local_files_only"] and not is_folder(source):
        raise not_there(source, where, (ADAPTER_WEIGHTS,))
    if config is None or not has_weights:
        raise UnsupportedModel(_incomplete_message(source, has_weights=has_weights))
    given = _fields_of(config)
    _check_peft(source, given)
    return Adapter(
        source=source,
        where=where,
        commit="local" if is_folder(source) else config.parent.name,  # .../snapshots/<commit>/adapter_config.json
        fields=given,
        base=_base_of(source, given) if _is_alone(source, where) else "",
    )


def with_adapter(model: PreTrainedModel, adapter: Adapter) -> PreTrainedModel:
    """The model with its adapter, whose weights are read from safetensors alone.

    Raises:
        UnsupportedModel: it belongs to another model, or this PEFT does not know all of its settings.
    """
    from peft import PeftModel, set_peft_model_state_dict
    from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING

    config = _config_of(adapter)
    weights = _weights_of(adapter)
    _resize_embeddings(model, weights)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "`is_gradient_checkpointing`", FutureWarning
        )  # PEFT still reads a deprecated attribute
        adapted = PeftModel(model, config)
    result: Any = set_peft_model_state_dict(adapted, weights)
    own = (PEFT_TYPE_TO_PREFIX_MAPPING[config.peft_type], ".modules_to_save.")
    missing = [name for name in result.missing_keys if any(part in name for part in own)]
    others = [name for name in result.unexpected_keys if not (_COPY.search(name) and _COPY.sub("", name) in weights)]
    if missing or others:
        raise UnsupportedModel(_about_other(adapter, missing or others, lacks=bool(missing)))
    found: PreTrainedModel = adapted.get_base_model()  # type: ignore[assignment]  # that it was made from
    return found


def adapters_of(model: PreTrainedModel) -> str:
    """The adapters of a model in memory that have an effect, by their names in PEFT; "" if there are none."""
    given = getattr(model, "peft_config", None) or {}
    used = _in_use(model) if given else frozenset()
    return ", ".join(f"{name} ({_method(config.peft_type.value)})" for name, config in given.items() if name in used)


def _in_use(model: PreTrainedModel) -> frozenset[str]:
    """The names of the adapters that are merged or active in a layer where adapters are not disabled."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = (layer for layer in model.modules() if isinstance(layer, BaseTunerLayer) and not layer.disable_adapters)
    return frozenset(name for layer in layers for name in layer.merged_adapters or layer.active_adapters)


def is_prompt(config: Any) -> bool:
    """Whether an adapter with this config of PEFT is tokens, which may be added in the attention of each layer."""
    return bool(config.is_prompt_learning or getattr(config, "is_adaption_prompt", False))


def prompt_refused() -> UnsupportedModel:
    """The error for an adapter that is tokens."""
    return UnsupportedModel(
        "This PEFT model learns virtual tokens before the prompt, which a trace cannot represent. Use adapters that "
        "change weights, such as LoRA."
    )


def _is_alone(source: str, where: dict[str, Any]) -> bool:
    if is_folder(source):
        return not has_own_weights(Path(source))
    try:
        require_safetensors(source, where)
    except FileNotFoundError:
        return True
    return False


def _fields_of(config: Path) -> dict[str, Any]:
    given = json.loads(config.read_text(encoding="utf-8"))
    if not (isinstance(given, dict) and isinstance(given.get("peft_type"), str)):
        message = f"{config} names no peft_type, so it is no adapter of PEFT. Save the adapter with save_pretrained."
        raise UnsupportedModel(message)
    return given


def _check_peft(source: str, given: Mapping[str, Any]) -> None:
    try:
        import peft  # noqa: F401 - whether it can be used at all
    except ImportError as error:
        message = (
            f"{source} has an adapter ({_method(given['peft_type'])}), which needs peft: pip install peft. Without it, "
            "only the model that the adapter is applied to can be used, from a folder without the adapter."
        )
        raise MissingPackage(message) from error


def _base_of(source: str, given: Mapping[str, Any]) -> str:
    """The folder, GGUF file or hub id of the model that an adapter was trained for.

    Raises:
        UnsupportedModel: it names none, or a path that is not here.
    """
    base = given.get("base_model_name_or_path")
    if isinstance(base, str) and base:
        found = next(filter(os.path.exists, (os.path.join(source, base), base)), base)  # noqa: PTH118 - may be no path
        is_here = os.path.exists(found)  # noqa: PTH110 - the same
        if is_here or not looks_like_path(found):
            _refuse_itself(source, found)
            return found if is_here else _own_place(found)
    said = f"is trained for {base!r}, which is not here" if base else "does not name the model that it is trained for"
    message = (
        f"The adapter in {source} {said}. Write the model's folder or hub id into base_model_name_or_path of its "
        f"{ADAPTER_CONFIG}."
    )
    raise UnsupportedModel(message)


def _own_place(base: str) -> str:
    """The file of a model with a short name; any other name unchanged."""
    named = find_named(base)
    return str(file_of(named)) if named is not None else str(ATLAS) if base == "atlas" else base


def _refuse_itself(source: str, base: str) -> None:
    if base == source or (is_folder(base) and is_folder(source) and Path(base).samefile(source)):
        message = (
            f"The adapter in {source} names itself as the model that it is trained for, and no weights of a model are "
            f"beside it. Write that model's folder or hub id into base_model_name_or_path of its {ADAPTER_CONFIG}."
        )
        raise UnsupportedModel(message)


def _resize_embeddings(model: PreTrainedModel, weights: Mapping[str, Any]) -> None:
    """Make room for tokens that were added in training, if the adapter has all rows of the embeddings and of the head.

    With the rows of one of them alone, those of the other would be random numbers, and PEFT refuses the sizes.
    """
    tables: list[Any] = [model.get_input_embeddings(), model.get_output_embeddings()]
    names = [name for name, part in model.named_modules() if any(part is table for table in tables)]
    given = [weights[place] for name in names if (place := f"base_model.model.{name}.weight") in weights]
    rows = {len(table) for table in given}
    is_whole = len(given) == len({id(table.weight) for table in tables})
    if is_whole and len(rows) == 1 and rows != {len(tables[0].weight)}:
        model.resize_token_embeddings(rows.pop(), mean_resizing=False)


def _config_of(adapter: Adapter) -> Any:
    """PEFT's own config of an adapter.

    Raises:
        UnsupportedModel: it has a setting that this PEFT does not know, and that is in use; or it is a prompt.
    """
    from peft import PeftConfig
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

    method = adapter.fields["peft_type"]
    if method not in PEFT_TYPE_TO_CONFIG_MAPPING:
        raise UnsupportedModel(_about_version(adapter, f"the method {method}"))
    known = {field.name for field in fields(PEFT_TYPE_TO_CONFIG_MAPPING[method])}
    if unknown := [name for name, value in adapter.fields.items() if name not in known and value]:
        raise UnsupportedModel(_about_version(adapter, f"the setting {unknown[0]}"))
    kept = {name: value for name, value in adapter.fields.items() if name in known}
    config = PeftConfig.from_peft_type(**kept, **({} if "inference_mode" in kept else {"inference_mode": True}))
    if is_prompt(config):
        raise prompt_refused()
    config.inference_mode = True
    return config


def _weights_of(adapter: Adapter) -> dict[str, Any]:
    if (file := stored_file(adapter.source, ADAPTER_WEIGHTS, adapter.where)) is None:
        raise UnsupportedModel(_incomplete_message(adapter.source, has_weights=False))
    with safe_open(file, framework="pt", backend="pread") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no dict


def _incomplete_message(source: str, *, has_weights: bool) -> str:
    if has_weights:
        return (
            f"{source} has {ADAPTER_WEIGHTS} and no {ADAPTER_CONFIG}, so the adapter cannot be used. Add its config; "
            "to use the model without the adapter, move the adapter's weights to another folder."
        )
    return (
        f"{source} has {ADAPTER_CONFIG} and no {ADAPTER_WEIGHTS}; pickled weights are never read. Save the adapter "
        "with save_pretrained. If it is merged into the model beside it, remove its config."
    )


def _about_other(adapter: Adapter, names: list[str], *, lacks: bool) -> str:
    what = f"lacks {len(names)} tensors" if lacks else f"has {len(names)} tensors that do not fit"
    return (
        f"The adapter {adapter} {what}, such as {', '.join(names[:_MOST_NAMED])}: it is damaged, or was trained for "
        f"another model. Get it again, or name the right model in base_model_name_or_path of its {ADAPTER_CONFIG}."
    )


def _about_version(adapter: Adapter, what: str) -> str:
    return (
        f"The adapter {adapter} uses {what}, which this version of peft does not know. Update it: pip install -U peft"
    )


def _method(peft_type: str) -> str:
    return "LoRA" if peft_type == "LORA" else peft_type


def _short(place: str) -> str:
    """A folder by its last part, which does not say where it lies; a hub id as it is."""
    return PurePath(place).name if is_folder(place) or looks_like_path(place) else place
