"""Load a causal language model and its tokenizer from a folder or from the hub, with a clear error if that fails."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from rauq.checkpoints.adapters import Adapter, find_adapter, with_adapter
from rauq.checkpoints.architecture import has_other_parts, language_model, read_config
from rauq.checkpoints.checkpoint import Checkpoint, gguf_checkpoint
from rauq.checkpoints.hub import find_gguf, require_safetensors, source_arguments
from rauq.checkpoints.kinds import BFLOAT16
from rauq.checkpoints.memory import free_main_memory
from rauq.checkpoints.quantization import quantization_options, refuse_unknown_scheme
from rauq.checkpoints.refusals.reasons import plain_errors
from rauq.checkpoints.weights import (
    check_complete,
    check_numbers,
    refuse_weights_in_subfolders,
    stored_file,
    stored_weights,
)
from rauq.errors import InvalidInput, OutOfMemory, UnsupportedModel
from rauq.labels import size
from rauq.transformers_api import AutoTokenizer, PreTrainedModel, modeling_utils

_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_OF_PROCESSORS = ("chat_template.json", "processor_config.json")
_CONTEXT_NAMES = ("max_position_embeddings", "max_seq_len", "n_positions")
_replacing = threading.RLock()  # the name that is replaced belongs to all threads
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory", re.IGNORECASE)


def find_checkpoint(source: str, *, revision: str | None) -> Checkpoint:
    """What is known of a model that is a GGUF file, or has safetensors and needs no code of its own.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is not a causal language model, or it needs its own code, or cannot be read exactly.
    """
    if (file := find_gguf(source, revision=revision)) is not None:
        return gguf_checkpoint(source, file, revision=revision)
    where = _where(source, revision)
    with plain_errors(source, "adapter"):
        adapter = find_adapter(source, where)
    if adapter is not None and adapter.base:
        return _adapted(_base_checkpoint(adapter), adapter)
    checkpoint = _whole_checkpoint(source, where)
    return checkpoint if adapter is None else replace(checkpoint, adapter=adapter)


def _base_checkpoint(adapter: Adapter) -> Checkpoint:
    """The model that an adapter from elsewhere is applied to, which has no adapter of its own."""
    source, revision = adapter.base, adapter.fields.get("revision")
    revision = None if Path(source).is_file() else revision  # which is one of the hub
    if (file := find_gguf(source, revision=revision)) is not None:
        return gguf_checkpoint(source, file, revision=revision)
    where = _where(source, revision)
    with plain_errors(source, "adapter"):
        other = find_adapter(source, where)
    if other is not None:
        message = (
            f"The adapter {adapter} is for a model that has an adapter too: {other}. Merge that one into its model "
            "first, and name the merged model in base_model_name_or_path."
        )
        raise UnsupportedModel(message)
    return _whole_checkpoint(source, where)


def _where(source: str, revision: str | None) -> dict[str, Any]:
    otherwise = 'A folder works without the hub, and "atlas" is embedded.'
    return source_arguments(source, revision=revision, otherwise=otherwise)


def _whole_checkpoint(source: str, where: dict[str, Any]) -> Checkpoint:
    """What is known of a model with config, tokenizer and weights; errors are those of `find_checkpoint`."""
    with plain_errors(source, "config.json"):
        config = read_config(source, where)
        _refuse_other_architectures(config)
        refuse_unknown_scheme(source, config)
    tokenizer = _tokenizer(source, where, config)
    with plain_errors(source, "weights"):
        refuse_weights_in_subfolders(source)
        require_safetensors(source, where)
    with plain_errors(source, "config.json"):
        skeleton = language_model(config)
    with plain_errors(source, "weights"):
        stored = stored_weights(source, {**where, "local_files_only": True}, skeleton)
    other_parts = "only text goes in: its parts for other input are not used" if has_other_parts(config) else ""
    return Checkpoint(
        source=source,
        where=where,
        config=config,
        skeleton=skeleton,
        chat_template=tokenizer.chat_template,
        read_tokenizer=lambda: tokenizer,
        notes=tuple(filter(None, (other_parts, str(stored)))),
    )


def _adapted(base: Checkpoint, adapter: Adapter) -> Checkpoint:
    """A base model with an adapter from elsewhere, and with that one's tokenizer, if it has any."""
    if not adapter.has_tokenizer:
        return replace(base, adapter=adapter)
    tokenizer = _tokenizer(adapter.source, dict(adapter.where), base.config)
    return replace(base, adapter=adapter, chat_template=tokenizer.chat_template, read_tokenizer=lambda: tokenizer)


def _tokenizer(source: str, where: dict[str, Any], config: Any) -> Any:
    with plain_errors(source, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, config=config, **where)
        tokenizer.chat_template = tokenizer.chat_template or _processor_template(source, where)
    return tokenizer


def _processor_template(source: str, where: dict[str, Any]) -> Any:
    """The chat template in the files of a processor, which models with input besides text may have; None: none there.

    Of several named ones, a dictionary.
    """
    for file in filter(None, (stored_file(source, name, where) for name in _OF_PROCESSORS)):
        fields = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(fields, dict) and (found := fields.get("chat_template")):
            return {one["name"]: one["template"] for one in found} if isinstance(found, list) else found
    return None


def load_weights(
    checkpoint: Checkpoint,
    *,
    device: str,
    dtype: str,
    takes_less: str,
    placed: Mapping[str, Any] | None = None,
    quantization: str | None = None,
    mapped: bool = False,
) -> PreTrainedModel:
    """The model, in memory, or `placed` as these options of transformers say, quantised by this scheme.

    If there is too little memory, the error says what `takes_less`. `mapped`: weights that need no conversion stay in
    their files, whose memory processes share.

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
    with (
        plain_errors(source, "weights"),
        memory_errors(f"loading {source}", takes_less=takes_less),
        reading(mapped=mapped),
    ):
        model = _with_weights(checkpoint, options)
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model


@contextmanager
def reading(*, mapped: bool = False) -> Iterator[None]:
    """Let transformers read weights into memory of their own, one tensor at a time, unless their files are `mapped`.

    Weights that are views of a file would change with it, and would end the process if it shrank; copying them
    afterwards takes half as much memory again. transformers would apply adapters without saying so, so it is kept from
    reading them.
    """
    replaced = {"maybe_load_adapters": _no_adapter} | ({} if mapped else {"safe_open": _open_unmapped})
    with _replacing:
        names = vars(modeling_utils)
        usual = {name: names[name] for name in replaced}
        names.update(replaced)
        try:
            yield
        finally:
            names.update(usual)


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


def _no_adapter(source: Any, _where: Any, **options: Any) -> tuple[None, Any, dict[str, Any]]:
    return None, source, options


def _refuse_other_architectures(config: Any) -> None:
    names = config.architectures or []
    if config.is_encoder_decoder:
        message = f"{names} is an encoder-decoder. Choose a causal language model (a decoder alone)."
        raise UnsupportedModel(message)
    if names and not any(name.endswith(_CAUSAL_ENDINGS) for name in names):
        message = f"{names} is not a causal language model. Choose one whose architecture ends in ForCausalLM."
        raise UnsupportedModel(message)


def _with_weights(checkpoint: Checkpoint, options: dict[str, Any]) -> PreTrainedModel:
    skeleton, source = checkpoint.skeleton, checkpoint.source
    stored = stored_weights(source, checkpoint.where, skeleton)
    check_numbers(source, stored, skeleton.config)
    options |= {"config": skeleton.config, "key_mapping": stored.renamings}
    options |= {"ignore_mismatched_sizes": True, "output_loading_info": True}  # other shapes are refused here
    loaded: Any = type(skeleton).from_pretrained(source, **options)
    model: PreTrainedModel = loaded[0]
    if not all(stored.dtypes.values()):  # of a model of the hub in several files, which were fetched just now
        check_numbers(source, stored_weights(source, checkpoint.where, skeleton), skeleton.config)
    check_complete(source, model, loaded[1])
    if checkpoint.adapter is None:
        return model
    with plain_errors(checkpoint.adapter.source, "adapter"):
        return with_adapter(model, checkpoint.adapter)


def _free_on_gpu(gpu: torch.device | int) -> int:
    kept = torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)  # freed, and not handed back
    return int(torch.cuda.mem_get_info(gpu)[0]) + kept


def _placement(place: torch.device, asked: str) -> dict[str, Any]:
    # Sequential fills one GPU first, then others, then main memory.
    return {"device_map": "sequential" if place.type == "cuda" and asked == "auto" else {"": place}}


def _dtype(name: str, place: torch.device) -> Any:
    if name == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    return getattr(torch, name)
