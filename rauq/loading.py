"""Get a causal language model and its tokenizer from a folder or from the hub, or say plainly why not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from rauq.errors import InvalidInput, ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.presets import find_preset
from rauq.trace import Kind

DTYPES = ("auto", "float32", "bfloat16", "float16")

_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_INSTRUCT = re.compile(r"instruct|chat|-it\b", re.IGNORECASE)


def load_pretrained(
    source: str | Path, *, device: str, dtype: str, revision: str | None
) -> tuple[PreTrainedModel, Any]:
    """Model and tokenizer, from safetensors only and without remote code.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is no causal language model, or its weights are incomplete.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device or dtype.
    """
    place = _device(device)
    where = {"revision": revision, "trust_remote_code": False}
    with _plain_errors(source):
        config = AutoConfig.from_pretrained(source, **where)
        _refuse_other_architectures(config)
        tokenizer = AutoTokenizer.from_pretrained(source, **where)
        options = {**where, **_placement(place, device), "dtype": _dtype(dtype, place), "use_safetensors": True}
        model = _with_weights(source, options)
        if not model._can_set_attn_implementation():  # noqa: SLF001 - outside the interface: eager from the start
            model = _with_weights(source, {**options, "attn_implementation": "eager"})
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model, tokenizer


def kind_of(name: str, tokenizer: Any) -> Kind:
    """Base or instruct: what the paper says of its models, else what name and chat template say together."""
    if (preset := find_preset(name)) is not None:
        return preset.kind
    return "instruct" if _INSTRUCT.search(name) and tokenizer.chat_template else "base"


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Turn the device's out-of-memory into an error that says what would fit."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        message = f"Out of memory while {doing}. Try a shorter prompt, a smaller batch, a smaller model, or bfloat16."
        raise OutOfMemory(message) from error


@contextmanager
def _plain_errors(source: str | Path) -> Iterator[None]:
    try:
        with memory_errors(f"loading {source}"):
            yield
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if isinstance(error, OutOfMemory | UnsupportedModel):
            raise
        raise ModelNotFound(_why_not(source, error)) from error


def _why_not(source: str | Path, error: Exception) -> str:
    folder = Path(source)
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    if not folder.is_dir():
        return (
            f"No folder {str(source)!r} is here, and the hub gave no model of that name ({reason}) "
            "Check the spelling and the network, or give a folder with config.json, a tokenizer and *.safetensors."
        )
    if not (folder / "config.json").is_file():
        return f"The folder {folder} has no config.json. Give a folder that save_pretrained wrote."
    if not list(folder.glob("*.safetensors")):
        found = "only pickled weights, which are never read" if _pickled(folder) else "no weights"
        return f"The folder {folder} has {found}. Save the model with save_pretrained, which writes *.safetensors."
    return f"The model in {folder} cannot be loaded ({reason}). Check its config.json, tokenizer and weights."


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
        return torch.device(name)
    except RuntimeError as error:
        message = f"Unknown device {name!r}; choose auto, cpu, mps, cuda or cuda:0."
        raise InvalidInput(message) from error


def _placement(place: torch.device, asked: str) -> dict[str, Any]:
    # Sequential fills one GPU first, and goes on to others and to main memory only with what does not fit.
    return {"device_map": "sequential" if place.type == "cuda" and asked == "auto" else {"": place}}


def _dtype(name: str, place: torch.device) -> Any:
    if name not in DTYPES:
        message = f"Unknown dtype {name!r}; choose one of {', '.join(DTYPES)}."
        raise InvalidInput(message)
    if name == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    return getattr(torch, name)
