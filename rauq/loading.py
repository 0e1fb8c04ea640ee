"""Get a causal language model and its tokenizer from a folder or from the hub, or say plainly why not."""

import copy
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import EntryNotFoundError, HFValidationError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from rauq.errors import InvalidInput, ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.labels import size
from rauq.load_errors import plain_errors, why_no_hub
from rauq.memory import free_main_memory
from rauq.model_folders import looks_like_path

DTYPES = ("auto", "float32", "bfloat16", "float16")

_HUB_SECONDS = 5
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_CONTEXT_NAMES = ("max_position_embeddings", "max_seq_len", "n_positions")
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model whose weights were not read yet; `skeleton` has their shapes alone, and `where` says how to get them."""

    source: str
    where: dict[str, Any]
    config: Any
    tokenizer: Any
    skeleton: PreTrainedModel

    @property
    def parameters(self) -> int:
        """How many there are; what two parts of the model share counts once."""
        return sum(weights.numel() for weights in self.skeleton.parameters())

    @property
    def commit(self) -> str:
        """The commit of a hub model, "local" for a folder."""
        if _is_folder(self.source):
            return "local"
        revision: str | None = self.where["revision"]
        return _cached_commit(self.source, revision) or revision or "main"


def find_checkpoint(source: str, *, revision: str | None) -> Checkpoint:
    """Config and tokenizer of a model that has safetensors and needs no code of its own.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is no causal language model, or it needs its own code.
    """
    where = whereabouts(source, revision=revision, otherwise='A folder works without it, and "atlas" is embedded.')
    with plain_errors(source, "config.json"):
        config = AutoConfig.from_pretrained(source, **where)
        _refuse_other_architectures(config)
    with plain_errors(source, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, **where)
    with plain_errors(source, "weights"):
        require_safetensors(source, where)
    with plain_errors(source, "config.json"), torch.device("meta"):
        skeleton = AutoModelForCausalLM.from_config(copy.deepcopy(config), trust_remote_code=False)
    return Checkpoint(source=source, where=where, config=config, tokenizer=tokenizer, skeleton=skeleton)


def load_weights(checkpoint: Checkpoint, *, device: str, dtype: str, takes_less: str) -> PreTrainedModel:
    """The model, in memory; where there is too little of it, the error says what `takes_less`.

    Raises:
        ModelNotFound: the weights cannot be read.
        UnsupportedModel: they are incomplete.
        OutOfMemory: they do not fit.
        InvalidInput: unknown device.
    """
    source, place = checkpoint.source, find_device(device)
    options = {**checkpoint.where, **_placement(place, device), "dtype": _dtype(dtype, place), "use_safetensors": True}
    if not checkpoint.skeleton._can_set_attn_implementation():  # noqa: SLF001 - outside the interface: eager
        options["attn_implementation"] = "eager"
    with plain_errors(source, "weights"), memory_errors(f"loading {source}", takes_less=takes_less):
        model = _with_weights(source, options)
        detach_from_files(model)
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model


def whereabouts(source: str, *, revision: str | None, otherwise: str) -> dict[str, Any]:
    """What to tell transformers so that it finds a folder, a model of the hub, or one of the cache without network.

    The hub is asked once with a short limit, since its own client goes on trying for half a minute.

    Args:
        source: A folder or the hub id of a model.
        revision: Branch, tag or commit on the hub.
        otherwise: What the error says can be done where there is no network.

    Raises:
        ModelNotFound: no such folder, nothing of that name on the hub, or no network and nothing in the cache.
    """
    return {
        "revision": revision,
        "local_files_only": _is_here(source, revision, otherwise),
        "trust_remote_code": False,
    }


def require_safetensors(source: str, where: dict[str, Any]) -> None:
    """Refuse a model whose weights are pickled, or not there.

    Raises:
        FileNotFoundError: it has no safetensors.
    """
    if _is_folder(source):
        found = bool(list(Path(source).glob("*.safetensors")))
    elif where["local_files_only"]:
        found = any(
            isinstance(try_to_load_from_cache(source, name, revision=where["revision"]), str) for name in _WEIGHTS
        )
    else:
        found = any(_is_on_hub(source, name, where["revision"]) for name in _WEIGHTS)
    if not found:
        message = f"there is no {' or '.join(_WEIGHTS)}"
        raise FileNotFoundError(message)


def detach_from_files(model: PreTrainedModel) -> None:
    """Copy weights that are views of a file: if it changed, they would too, and if it shrank, the process would end."""
    for weights in (*model.parameters(), *model.buffers()):
        if weights.device.type == "cpu":
            weights.data = weights.data.clone()


def find_device(name: str) -> torch.device:
    """The device of this name; auto is a GPU if there is one.

    Raises:
        InvalidInput: it is not here.
    """
    if name == "auto":
        mps = "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device("cuda" if torch.cuda.is_available() else mps)
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        message = f"There is no device {name!r} here; choose auto, cpu, or, where there is one, mps, cuda or cuda:N."
        raise InvalidInput(message) from error
    return torch.device(name)


def free_memory(device: str) -> int | None:
    """Bytes that are free for weights: auto fills every GPU, and then main memory; None where it is unknown."""
    place, main = find_device(device), free_main_memory()
    if place.type != "cuda":
        return main
    if device != "auto":
        return _free_on_gpu(place)
    return sum(map(_free_on_gpu, range(torch.cuda.device_count()))) + (main or 0)


def dtype_name(checkpoint: Checkpoint, *, device: str, dtype: str) -> str:
    """What the weights will be held in: float32, ..., or auto where the checkpoint does not say."""
    chosen = _dtype(dtype, find_device(device))
    if chosen == "auto":
        chosen = checkpoint.config.dtype or "auto"
    return str(chosen).removeprefix("torch.")


def context_length(config: Any) -> int | None:
    """The most tokens that the model was made for, if its config says so."""
    text = config.get_text_config(decoder=True)
    return next((value for name in _CONTEXT_NAMES if isinstance(value := getattr(text, name, None), int)), None)


@contextmanager
def memory_errors(doing: str, *, takes_less: str) -> Iterator[None]:
    """Turn the device's out-of-memory into an error that says what `takes_less`."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        known = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not (known or _NO_MEMORY.search(str(error))):  # CPU and Apple GPUs raise a plain RuntimeError
            raise
        message = f"Out of memory while {doing}. {takes_less}"
        raise OutOfMemory(message) from error


def running_takes_less(model: PreTrainedModel) -> str:
    """For an error: with what a loaded model takes less memory."""
    weights = sum(parameter.nbytes for parameter in model.parameters())
    halves = f", or bfloat16, which halves the {size(weights)} of its weights" if model.dtype == torch.float32 else ""
    return f"Try a shorter prompt, a smaller batch, a smaller model{halves}."


def _is_here(source: str, revision: str | None, otherwise: str) -> bool:
    """Whether to do without the network: a folder, or a model in the cache while the hub does not answer."""
    if _is_folder(source):
        return True
    if looks_like_path(source):
        message = f"{source!r} is no folder here. Check the path, or give the hub id of a model."
        raise ModelNotFound(message)
    try:
        _ask_hub(source, "config.json", revision)
    except Exception as error:  # the network, the hub and the name can each be at fault
        if not isinstance(error, HFValidationError) and _cached_commit(source, revision):
            return True
        raise ModelNotFound(why_no_hub(source, error, otherwise=otherwise)) from error
    return False


def _ask_hub(source: str, file: str, revision: str | None) -> None:
    get_hf_file_metadata(hf_hub_url(source, file, revision=revision), timeout=_HUB_SECONDS)


def _is_folder(source: str) -> bool:
    return os.path.isdir(source)  # noqa: PTH112 - a Path raises where a name is no possible path


def _cached_commit(source: str, revision: str | None) -> str | None:
    config = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(config).parent.name if isinstance(config, str) else None  # .../snapshots/<commit>/config.json


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


def _is_on_hub(source: str, file: str, revision: str | None) -> bool:
    try:
        _ask_hub(source, file, revision)
    except EntryNotFoundError:
        return False
    return True


def _free_on_gpu(gpu: torch.device | int) -> int:
    kept = torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)  # freed, and not handed back
    return int(torch.cuda.mem_get_info(gpu)[0]) + kept


def _placement(place: torch.device, asked: str) -> dict[str, Any]:
    # Sequential fills one GPU first, and goes on to others and to main memory only with what does not fit.
    return {"device_map": "sequential" if place.type == "cuda" and asked == "auto" else {"": place}}


def _dtype(name: str, place: torch.device) -> Any:
    if name == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    return getattr(torch, name)
