"""Load a language model, and check that its attention can be captured exactly."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from rauq.arguments import Cancel, OnProgress
from rauq.capture import tap
from rauq.capture.quantised import keep_dtype, quantisation_of
from rauq.capture.recompute import attends_to_later_tokens
from rauq.capture.session import StepwiseSession, TappedSession
from rauq.checkpoints.adapters import adapters_of, is_prompt, prompt_refused
from rauq.checkpoints.checkpoint import Checkpoint, fetched, in_folder
from rauq.checkpoints.kinds import check_kind, kind_of
from rauq.checkpoints.loading import context_length, load_weights, memory_errors, running_takes_less
from rauq.checkpoints.model_info import EMBEDDED, find_model_info, refuse_if_too_large, takes_less
from rauq.checkpoints.named import ATLAS
from rauq.checkpoints.placement import DeviceMap, check_options, placed, read_offloaded_unmapped
from rauq.checkpoints.quantization import check_quantization
from rauq.errors import InvalidInput, RauqError, UnsupportedModel
from rauq.labels import LLAMA
from rauq.model.context import known_ends
from rauq.model.engines.transformers_engine import TransformersEngine
from rauq.model.language_model import LanguageModel
from rauq.model.llama_loading import load_llama
from rauq.model.tokens import Tokens
from rauq.trace.trace import Kind
from rauq.transformers_api import PreTrainedModel, PreTrainedTokenizerBase


def load_model(
    name: str | os.PathLike[str] = EMBEDDED,
    *,
    device: str = "auto",
    device_map: DeviceMap | None = None,
    offload_folder: str | os.PathLike[str] | None = None,
    dtype: str | torch.dtype = "auto",
    quantization: str | None = None,
    revision: str | None = None,
    kind: Kind | None = None,
    engine: str | None = None,
    mapped: bool = False,
    on_progress: OnProgress | None = None,
    cancel: Cancel | None = None,
) -> LanguageModel:
    """Load a model, and check that its attention is captured.

    llama.cpp runs a GGUF file as it is; for transformers its weights are dequantised once, into a store on this machine
    (`rauq.checkpoints.store`).

    Args:
        name: "atlas" (embedded), "smollm2" or another short name (`rauq.NAMED_MODELS`), a folder, a GGUF file,
            a hub id, or a GGUF file on the hub: organisation/model/file.gguf.
        device: auto, cpu, mps, cuda or cuda:N; auto takes a GPU if there is one.
        device_map: For a model larger than a device: auto fills GPUs, then main memory, and leaves the rest on the
            disk, from where it is read at every pass; or the device of each module, as transformers takes it: cpu,
            disk, mps, or the number of a GPU. Parts on the disk need the checkpoint for as long as the model is used.
        offload_folder: Where weights are written that stay on the disk in another form than the checkpoint's.
        dtype: auto, float32, bfloat16 or float16, by name or as torch has it; auto is float32 on the CPU, else what the
            checkpoint has.
        quantization: Round the weights while loading: int8 (torchao) or int4 (bitsandbytes, NF4). dynamic-int8
            (torchao) and llm-int8 (bitsandbytes) round activations too (see `LanguageModel`). None: leave them.
        revision: Branch, tag or commit on the hub; the sha256 of a GGUF file, which it then has to have.
        kind: base or instruct; None: by the paper's list, name and chat template (`rauq.checkpoints.kinds`).
        engine: transformers or llama.cpp, which runs GGUF files on the CPU, faster and in less memory, and captures no
            hidden states; None: llama.cpp for a GGUF file of more than 1 GB once dequantised, where it is installed and
            nothing is asked for that it lacks (`rauq.checkpoints.gguf.engines`).
        mapped: Leave weights that need no conversion in their files, so that processes on the CPU which load the same
            model share their memory. The files must then stay as they are: a change would change the model, or end
            the process.
        on_progress: Called with the bytes dequantised so far, and with those of all weights.
        cancel: Checked while a GGUF file is read and dequantised.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: not a causal language model, or its attention cannot be captured exactly.
        OutOfMemory: it does not fit, which is found before its weights are read.
        CacheError: there is no room on the disk for the weights of a GGUF file.
        Stopped: cancelled.
        MissingPackage: the package of the quantization is not installed, or accelerate for `device_map`, or llama.cpp.
        InvalidInput: unknown device, dtype, quantization, kind or engine, a `device_map` beside a device or a
            quantization or that leaves out weights, or an `offload_folder` that cannot be written.

    Example:
        >>> rauq.load_model("atlas", device="cpu")
        LanguageModel(atlas, base, 12 layers of 8 heads, float32 on cpu)
    """
    check_quantization(quantization)
    check_options(device_map, device=device, quantization=quantization, offload_folder=offload_folder)
    chosen = str(dtype).removeprefix("torch.")
    others = {"device_map": device_map, "quantization": quantization}
    checkpoint, info = find_model_info(
        name, device=device, dtype=chosen, revision=revision, kind=kind, engine=engine, others=others
    )
    if device_map is None and quantization is None:  # how much less memory a scheme takes depends on its kernels
        refuse_if_too_large(info)
    _check_placeable(checkpoint, device_map)
    checkpoint = fetched(checkpoint)
    if info.engine == LLAMA:
        return load_llama(checkpoint, info, cancel=cancel)
    options = None if device_map is None else placed(checkpoint, device_map, info.dtype, offload_folder=offload_folder)
    with in_folder(checkpoint, dtype=info.dtype, on_progress=on_progress, cancel=cancel) as folder:
        model = load_weights(
            folder,
            device=device,
            dtype=info.dtype,
            takes_less=takes_less(info),
            placed=options,
            quantization=quantization,
            mapped=mapped,
        )
        read_offloaded_unmapped(model)
        tokenizer, commit = folder.tokenizer, folder.commit
    lm = wrap(
        model,
        tokenizer,
        name=info.name,
        kind=info.kind,
        revision=sha256(ATLAS / "model.safetensors") if info.name == EMBEDDED else commit,
    )
    quantisation = ", then ".join(filter(None, (info.quantisation, lm.quantisation)))
    return replace(lm, quantisation=quantisation, adapter=info.adapter)


def wrap(
    model: Any, tokenizer: Any, *, name: str | None = None, kind: Kind | None = None, revision: str = "local"
) -> LanguageModel:
    """A language model that is in memory already, with the same check as in `load_model`.

    It is put into evaluation mode, 4-bit layers of bitsandbytes compute in the dtype that they were given on every CPU
    (`rauq.capture.quantised.keep_dtype`), and it stays as it is otherwise.

    Args:
        model: A causal language model of transformers, quantised or not, or one with adapters of PEFT.
        tokenizer: The model's own.
        name: What traces call it; None: where it was loaded from, or its class.
        kind: base or instruct; None: by name and chat template (`rauq.checkpoints.kinds`).
        revision: What traces note as its revision.

    Raises:
        UnsupportedModel: no causal language model, or its attention cannot be captured exactly; the message says why.
        InvalidInput: unknown kind, or something other than a tokenizer.

    Example:
        >>> lm = rauq.load_model("atlas", device="cpu")  # or any model and tokenizer of transformers
        >>> rauq.wrap(lm.model, lm.tokens.tokenizer, name="mine", kind="base")
        LanguageModel(mine, base, 12 layers of 8 heads, float32 on cpu)
    """
    check_kind(kind)
    _check_tokenizer(tokenizer)
    model = _causal_model(model).eval()
    keep_dtype(model)
    name = name or _name_of(model)
    probe = _probed(model)
    configured = known_ends(getattr(model.generation_config, "eos_token_id", None), probe.vocab_size)
    lm = LanguageModel(
        name=name,
        revision=revision,
        kind=kind or kind_of(name, tokenizer).kind,
        quantisation=quantisation_of(model),
        adapter=adapters_of(model),
        tokens=Tokens(tokenizer),
        context_length=context_length(model.config),
        end_ids=frozenset((*configured, *known_ends(tokenizer.eos_token_id, probe.vocab_size))),
        configured_end_ids=configured,
        num_layers=model.config.get_text_config(decoder=True).num_hidden_layers,
        engine=TransformersEngine(model, probe.session_type),
        layers=probe.layers,
        num_heads=probe.num_heads,
        vocab_size=probe.vocab_size,
    )
    if not (check := lm.check()).exact:
        message = f"The attention check of {name} failed, so no results are shown ({check})."
        raise UnsupportedModel(message)
    return lm


def use_threads(count: int | None) -> int:
    """Let torch compute with so many threads from now on, None: as many as before; returns how many it had before."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    return before


def rounding_of(lm: LanguageModel) -> dict[str, str | int]:
    """What decides how the sums of a model round, besides its inputs.

    `device` is the name of the GPU, or cpu; `threads` those of torch; `cpu` the vector instructions that torch uses.
    """
    is_gpu = lm.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(lm.device) if is_gpu else lm.device.type,
        "dtype": lm.dtype,
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file: the revision of the embedded weights."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class _Probe:
    """What a pass over two tokens shows about a model of transformers."""

    session_type: type[TappedSession | StepwiseSession]
    layers: tuple[int, ...]
    num_heads: int
    vocab_size: int


@torch.inference_mode()
def _probed(model: PreTrainedModel) -> _Probe:
    """Run two short sequences, through the attention interface if the model uses it, else step by step.

    Raises:
        UnsupportedModel: the model gives no attention at all, or attends to later tokens.
    """
    tap.install(model)
    ids = torch.tensor([[0, 1], [0, 2]], device=tap.input_device(model))
    for session_type in (TappedSession, StepwiseSession):
        session = session_type(model, [0, 0])
        logits = _first_logits(session, ids)
        if attends_to_later_tokens(logits):
            message = f"{type(model).__name__} attends to later tokens: it is not a causal language model."
            raise UnsupportedModel(message)
        if session.layers:
            num_heads = session.band().shape[2]
            return _Probe(
                session_type=session_type, layers=session.layers, num_heads=num_heads, vocab_size=int(logits.shape[-1])
            )
    message = f"{type(model).__name__} neither uses the attention interface nor returns attention weights."
    raise UnsupportedModel(message)


def _first_logits(session: TappedSession | StepwiseSession, ids: torch.Tensor) -> torch.Tensor:
    try:
        with memory_errors("testing the model", takes_less=running_takes_less(session.cached.model)):
            return session.feed(ids, tail=2)
    except RauqError:
        raise
    except Exception as error:  # architectures with no cache, or another one, can raise any exception
        name = type(session.cached.model).__name__
        message = f"{name} cannot be run token by token here ({type(error).__name__}: {error})."
        raise UnsupportedModel(message) from error


def _check_placeable(checkpoint: Checkpoint, device_map: DeviceMap | None) -> None:
    """Refuse to spread a model with an adapter over devices: the adapter would be where its weights are not."""
    if device_map is not None and checkpoint.adapter is not None:
        message = (
            f"Got a device_map for a model with the adapter {checkpoint.adapter}. Leave the map out, or merge the "
            "adapter into the model first."
        )
        raise InvalidInput(message)


def _causal_model(given: Any) -> PreTrainedModel:
    """The model that computes: of a PEFT model the one that holds its adapters.

    Raises:
        UnsupportedModel: not a causal language model of transformers, or adapters that are a prompt.
    """
    model = _with_adapters(given) if hasattr(given, "get_base_model") else given
    if not isinstance(model, PreTrainedModel):
        message = (
            f"Got {type(given).__name__}; give a causal language model of transformers (a PreTrainedModel), or a PEFT "
            "model of one."
        )
        raise UnsupportedModel(message)
    if model.config.is_encoder_decoder or not model.can_generate():
        message = (
            f"{type(model).__name__} is not a causal language model. Give one that generates, such as a ...ForCausalLM."
        )
        raise UnsupportedModel(message)
    return model


def _check_tokenizer(given: object) -> None:
    """Check that it is a tokenizer of transformers.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(given, PreTrainedTokenizerBase):
        message = f"Got {type(given).__name__} as tokenizer; give the model's own, AutoTokenizer.from_pretrained(...)."
        raise InvalidInput(message)


def _name_of(model: PreTrainedModel) -> str:
    """Where a model was loaded from, or the name of its class."""
    return model.config.name_or_path or type(model).__name__


def _with_adapters(given: Any) -> Any:
    if any(map(is_prompt, given.peft_config.values())):
        raise prompt_refused()
    return given.get_base_model()
