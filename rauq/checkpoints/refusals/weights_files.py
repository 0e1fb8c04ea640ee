"""Which file of weights a name means: those that a model is loaded from, or another one, whose numbers would differ."""

import json
import re
from pathlib import Path, PurePath
from typing import Any

from safetensors import SafetensorError, safe_open

from rauq.checkpoints.folders import ADAPTER_CONFIG, CONFIG
from rauq.checkpoints.refusals.damage import INDEX, named_in

SINGLE = "model.safetensors"
_ADAPTER = "adapter_model.safetensors"
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_TEXTS = {".json", ".txt", ".model", ".jinja", ".tiktoken", ".md", ".yaml", ".yml"}  # config, tokenizer, card
_PICKLED = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}
_WEIGHTS = {".safetensors", ".onnx", ".h5", ".msgpack", ".npz", *_PICKLED}


def describes_model(name: str) -> bool:
    """Whether a file of this name is config, tokenizer or card of a model, and so can stand for the whole model."""
    return PurePath(name).suffix.lower() in _TEXTS and not is_weights(name)


def is_weights(name: str) -> bool:
    """Whether a file of this name holds weights, or is the index of such files."""
    return PurePath(name).suffix.lower() in _WEIGHTS or name.lower().endswith(".index.json")


def why_not_this_file(file: Path) -> str:
    """Why a file of weights does not stand for the folder that it is in; empty where the folder is loaded from it."""
    folder, loaded = file.parent, _loaded_from(file.parent)
    if not is_weights(file.name) or file.name in loaded:
        return ""
    if not loaded and (file.suffix != ".safetensors" or _SHARD.fullmatch(file.name)):
        return ""  # the error about the folder says what is wrong
    said = f"{file} {_what(file.name)}: {folder} is loaded from {_in_words(loaded)}."
    if not _has_its_tensors(file, loaded):
        return f"{said} To use that, give the folder."
    return (
        f"{said} To use this file, copy it, named {SINGLE}, into a new folder with the config and the tokenizer of "
        "this one, and give that folder."
    )


def has_own_weights(folder: Path) -> bool:
    """Whether a folder has weights of a model, besides those of an adapter or of a value head."""
    numbered = any(_SHARD.fullmatch(file.name) for file in folder.glob("*.safetensors"))
    return numbered or any(name != _ADAPTER for name in _loaded_from(folder))


def about_hub_file(model: str, name: str) -> str:
    """Why a file does not stand for the model of the hub that it is in; empty where the model is loaded from it."""
    if describes_model(name) or name in {SINGLE, INDEX, _ADAPTER} or _SHARD.fullmatch(name):
        return ""
    return (
        f"{model}/{name} {_what(name)}: a model of the hub is loaded from {SINGLE}, or from the files that {INDEX} "
        f"names. To use that, give {model}."
    )


def _what(name: str) -> str:
    if PurePath(name).suffix.lower() in _PICKLED:
        return "is a pickled file, which is never read"
    return "is not a file that the model is loaded from"


def _loaded_from(folder: Path) -> tuple[str, ...]:
    """The names of the files that the weights of a folder are loaded from, and of their index; empty: there are none.

    A file that the config names comes first, and one file before several.
    """
    named = _fields(folder / CONFIG).get("transformers_weights")
    first = next((name for name in (named, SINGLE, INDEX) if isinstance(name, str) and (folder / name).is_file()), None)
    found = () if first is None else (first, *sorted(named_in(folder / first) if first.endswith(".json") else ()))
    has_adapter = (folder / ADAPTER_CONFIG).is_file() and (folder / _ADAPTER).is_file()
    return (*found, _ADAPTER) if has_adapter else found


def _in_words(loaded: tuple[str, ...]) -> str:
    if not loaded:
        return SINGLE
    first, *others = loaded
    if not first.endswith(".json"):
        return " and ".join(loaded)
    return f"the files that {first} names" + (f" and {_ADAPTER}" if _ADAPTER in others else "")


def _has_its_tensors(file: Path, loaded: tuple[str, ...]) -> bool:
    """Whether it could stand in the place of the files that are loaded, by the names of their tensors."""
    if file.suffix != ".safetensors":
        return False
    wanted = {name for one in loaded if one.endswith(".safetensors") for name in _tensors(file.parent / one)}
    return not loaded or _tensors(file) == wanted


def _tensors(file: Path) -> set[str]:
    try:
        with safe_open(file, framework="np") as opened:
            return set(opened.keys())
    except (OSError, SafetensorError):
        return set()


def _fields(config: Path) -> dict[str, Any]:
    try:
        found = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
