"""Get a causal language model and its tokenizer from a folder or from the hub, or say plainly why not."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from rauq.errors import InvalidInput, ModelNotFound, OutOfMemory, RauqError, UnsupportedModel
from rauq.presets import find_preset
from rauq.trace import Kind

DTYPES = ("auto", "float32", "bfloat16", "float16")

_HUB_SECONDS = 5
_UNSUPPORTED = MappingProxyType(
    {
        "trust_remote_code": "it comes with code of its own, which is never run",
        "Unrecognized configuration class": "it is no causal language model",
    }
)
_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory", re.IGNORECASE)
_INSTRUCT = re.compile(r"instruct|chat|-it\b", re.IGNORECASE)


def load_pretrained(
    source: str | Path, *, device: str, dtype: str, revision: str | None
) -> tuple[PreTrainedModel, Any]:
    """Model and tokenizer, from safetensors only and without remote code.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is no causal language model, it needs its own code, or its weights are incomplete.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device or dtype.
    """
    place = _device(device)
    numbers = {**_placement(place, device), "dtype": _dtype(dtype, place)}
    is_here = _is_here(str(source), revision)
    where = {"revision": revision, "local_files_only": is_here, "trust_remote_code": False}
    with _plain_errors(source, "config.json"):
        config = AutoConfig.from_pretrained(source, **where)
        _refuse_other_architectures(config)
    with _plain_errors(source, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, **where)
    with _plain_errors(source, "weights"), memory_errors(f"loading {source}"):
        options = {**where, **numbers, "use_safetensors": True}
        model = _with_weights(source, options)
        if not model._can_set_attn_implementation():  # noqa: SLF001 - outside the interface: eager from the start
            model = _with_weights(source, {**options, "attn_implementation": "eager"})
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model, tokenizer


def commit_of(source: str, revision: str | None) -> str:
    """The commit of a hub model that was loaded, "local" for a folder."""
    return "local" if _is_folder(source) else _cached_commit(source, revision) or revision or "main"


def kind_of(name: str, tokenizer: Any) -> Kind:
    """Base or instruct: what the paper says of its models, else what name and chat template say together."""
    if (preset := find_preset(name)) is not None:
        return preset.kind
    return "instruct" if _INSTRUCT.search(Path(name).name) and tokenizer.chat_template else "base"


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Turn the device's out-of-memory into an error that says what would fit."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        known = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not (known or _NO_MEMORY.search(str(error))):  # CPU and Apple GPUs raise a plain RuntimeError
            raise
        message = f"Out of memory while {doing}. Try a shorter prompt, a smaller batch, a smaller model, or bfloat16."
        raise OutOfMemory(message) from error


def _is_here(source: str, revision: str | None) -> bool:
    """Whether to do without the network: a folder, or a model in the cache while the hub does not answer.

    The hub is asked once with a short limit, since its own client goes on trying for half a minute.
    """
    if _is_folder(source):
        return True
    try:
        get_hf_file_metadata(hf_hub_url(source, "config.json", revision=revision), timeout=_HUB_SECONDS)
    except Exception as error:  # the network, the hub and the name can each be at fault
        if not isinstance(error, HFValidationError) and _cached_commit(source, revision):
            return True
        message = (
            f"{source!r} is no folder here, and the hub gives no model of that name ({_short(error)}). "
            "Check the spelling, the network and the access, or give a folder that save_pretrained wrote."
        )
        raise ModelNotFound(message) from error
    return False


def _is_folder(source: str) -> bool:
    return os.path.isdir(source)  # noqa: PTH112 - a Path raises where a name is no possible path


def _cached_commit(source: str, revision: str | None) -> str | None:
    config = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(config).parent.name if isinstance(config, str) else None  # .../snapshots/<commit>/config.json


@contextmanager
def _plain_errors(source: str | Path, part: str) -> Iterator[None]:
    try:
        yield
    except RauqError:
        raise
    except Exception as error:  # other people's files fail in any way
        raise _why_not(Path(source), part, error) from error


def _why_not(source: Path, part: str, error: Exception) -> RauqError:
    for sign, reason in _UNSUPPORTED.items():
        if sign in str(error):
            return UnsupportedModel(f"{source} cannot be used: {reason}.")
    if not source.is_dir():
        return ModelNotFound(f"The {part} of {source} cannot be loaded ({_short(error)}). Choose another model.")
    if part == "config.json" and not (source / part).is_file():
        return ModelNotFound(f"The folder {source} has no config.json. Give a folder that save_pretrained wrote.")
    if part == "weights" and not list(source.glob("*.safetensors")):
        found = "only pickled weights, which are never read" if _pickled(source) else "no weights"
        return ModelNotFound(
            f"The folder {source} has {found}. Save the model with save_pretrained, which writes *.safetensors."
        )
    return ModelNotFound(
        f"The {part} in {source} cannot be loaded ({_short(error)}). Save model and tokenizer there again."
    )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _pickled(folder: Path) -> bool:
    return any(list(folder.glob(pattern)) for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt"))


def _refuse_other_architectures(config: Any) -> None:
    names = config.architectures or []
    if config.is_encoder_decoder:
        message = f"{names} is an encoder-decoder. Choose a causal language model (a decoder alone)."
        raise UnsupportedModel(message)
    if names and not any(name.endswith(_CAUSAL_ENDINGS) for name in names):
        message = f"{names} is no causal language model. Choose one whose architecture ends in ForCausalLM."
        raise UnsupportedModel(message)


def _with_weights(source: str | Path, options: dict[str, Any]) -> PreTrainedModel:
    loaded: Any = AutoModelForCausalLM.from_pretrained(source, output_loading_info=True, **options)
    model: PreTrainedModel = loaded[0]
    if missing := sorted(loaded[1]["missing_keys"]):
        message = f"The weights of {source} lack {len(missing)} tensors, such as {missing[0]}. Get the whole model."
        raise UnsupportedModel(message)
    return model


def _device(name: str) -> torch.device:
    if name == "auto":
        mps = "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device("cuda" if torch.cuda.is_available() else mps)
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        message = f"There is no device {name!r} here; choose auto, cpu, or, where there is one, mps, cuda or cuda:N."
        raise InvalidInput(message) from error
    return torch.device(name)


def _placement(place: torch.device, asked: str) -> dict[str, Any]:
    # Sequential fills one GPU first, and goes on to others and to main memory only with what does not fit.
    return {"device_map": "sequential" if place.type == "cuda" and asked == "auto" else {"": place}}


def _dtype(name: str, place: torch.device) -> Any:
    if name == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    return getattr(torch, name)
