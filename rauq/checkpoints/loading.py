"""Load a causal language model and its tokenizer from a folder or from the hub, with a clear error if that fails."""

import copy
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, modeling_utils

from rauq.checkpoints.checkpoint import Checkpoint, gguf_checkpoint
from rauq.checkpoints.hub import find_gguf, plain_errors, require_safetensors, source_arguments
from rauq.checkpoints.kinds import BFLOAT16
from rauq.checkpoints.memory import free_main_memory
from rauq.checkpoints.quantization import quantization_options
from rauq.errors import InvalidInput, OutOfMemory, UnsupportedModel
from rauq.labels import size

_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_CONTEXT_NAMES = ("max_position_embeddings", "max_seq_len", "n_positions")
_unmapping = threading.RLock()  # the name that is replaced belongs to all threads
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory", re.IGNORECASE)


def find_checkpoint(source: str, *, revision: str | None) -> Checkpoint:
    """What is known of a model that is a GGUF file, or has safetensors and needs no code of its own.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is not a causal language model, or it needs its own code, or cannot be read exactly.
    """
    if (file := find_gguf(source, revision=revision)) is not None:
        return gguf_checkpoint(source, file, revision=revision)
    where = source_arguments(
        source, revision=revision, otherwise='A folder works without the hub, and "atlas" is embedded.'
    )
    with plain_errors(source, "config.json"):
        config = AutoConfig.from_pretrained(source, **where)
        _refuse_other_architectures(config)
    with plain_errors(source, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, **where)
    with plain_errors(source, "weights"):
        require_safetensors(source, where)
    with plain_errors(source, "config.json"), torch.device("meta"):
        skeleton = AutoModelForCausalLM.from_config(copy.deepcopy(config), trust_remote_code=False)
    return Checkpoint(
        source=source,
        where=where,
        config=config,
        skeleton=skeleton,
        chat_template=tokenizer.chat_template,
        read_tokenizer=lambda: tokenizer,
    )


def load_weights(
    checkpoint: Checkpoint,
    *,
    device: str,
    dtype: str,
    takes_less: str,
    placed: Mapping[str, Any] | None = None,
    quantization: str | None = None,
) -> PreTrainedModel:
    """The model, in memory, or `placed` as these options of transformers say, quantised by this scheme.

    If there is too little memory, the error says what `takes_less`.

    Raises:
        ModelNotFound: the weights cannot be read.
        UnsupportedModel: they are incomplete, or quantised already and by this scheme once more.
        OutOfMemory: they do not fit.
        InvalidInput: unknown device.
    """
    source, place = checkpoint.source, find_device(device)
    options = {
        **checkpoint.where,
        **(placed or _placement(place, device)),
        "dtype": _dtype(dtype, place),
        "use_safetensors": True,
    }
    options |= quantization_options(quantization, checkpoint.config, dtype=options["dtype"])
    if not checkpoint.skeleton._can_set_attn_implementation():  # noqa: SLF001 - outside the interface: eager
        options["attn_implementation"] = "eager"
    with plain_errors(source, "weights"), memory_errors(f"loading {source}", takes_less=takes_less), unmapped():
        model = _with_weights(source, options)
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model


@contextmanager
def unmapped() -> Iterator[None]:
    """Let transformers read weights into memory of their own, one tensor at a time, instead of mapping their files.

    Weights that are views of a file would change with it, and would end the process if it shrank; copying them
    afterwards takes half as much memory again.
    """
    with _unmapping:
        names = vars(modeling_utils)
        mapped = names["safe_open"]
        names["safe_open"] = _open_unmapped
        try:
            yield
        finally:
            names["safe_open"] = mapped


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
        message = f"Device {name!r} is not available; choose auto, cpu, or, if available, mps, cuda or cuda:N."
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


def bytes_held(model: PreTrainedModel, device: str) -> int:
    """Bytes of a loaded model's weights that `free_memory` would count for this device without the model."""
    place = find_device(device)
    if place.type != "cuda":
        held = [weights for weights in model.parameters() if weights.device.type not in ("cuda", "meta")]
    else:
        gpu = torch.empty(0, device=place).device  # cuda alone is one of several
        held = [weights for weights in model.parameters() if device == "auto" or weights.device == gpu]
    return sum(weights.nbytes for weights in held)


def dtype_name(checkpoint: Checkpoint, *, device: str, dtype: str) -> str:
    """What the weights will be held in: float32, ..., or auto where the checkpoint does not say."""
    chosen = _dtype(dtype, find_device(device))
    if chosen == "auto":  # the quantised weights of a GGUF file have fewer bits
        chosen = torch.bfloat16 if checkpoint.plan else checkpoint.config.dtype or "auto"
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
    halves = f", or {BFLOAT16}, which halves the {size(weights)} of its weights" if model.dtype == torch.float32 else ""
    return f"Try a shorter prompt, a smaller batch, a smaller model{halves}."


def _open_unmapped(file: str, **options: Any) -> Any:
    return safe_open(file, **{**options, "backend": "pread"})


def _refuse_other_architectures(config: Any) -> None:
    names = config.architectures or []
    if config.is_encoder_decoder:
        message = f"{names} is an encoder-decoder. Choose a causal language model (a decoder alone)."
        raise UnsupportedModel(message)
    if names and not any(name.endswith(_CAUSAL_ENDINGS) for name in names):
        message = f"{names} is not a causal language model. Choose one whose architecture ends in ForCausalLM."
        raise UnsupportedModel(message)


def _with_weights(source: str | Path, options: dict[str, Any]) -> PreTrainedModel:
    loaded: Any = AutoModelForCausalLM.from_pretrained(source, output_loading_info=True, **options)
    model: PreTrainedModel = loaded[0]
    if missing := sorted(loaded[1]["missing_keys"]):
        message = f"The weights of {source} lack {len(missing)} tensors, such as {missing[0]}. Get the whole model."
        raise UnsupportedModel(message)
    return model


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
