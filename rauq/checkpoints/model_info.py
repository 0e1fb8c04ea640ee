"""What is known about a model before its weights are read: architecture, memory, and whether it fits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rauq.checkpoints.checkpoint import Checkpoint
from rauq.checkpoints.gguf.engines import Conditions, engine_for
from rauq.checkpoints.kinds import BFLOAT16, BYTES_PER_PARAMETER, DTYPES, KindAndReason, check_kind, kind_of
from rauq.checkpoints.loading import dtype_name, find_checkpoint, find_device, free_memory
from rauq.checkpoints.memory import bytes_per_second
from rauq.checkpoints.named import ATLAS, file_of, find_named, place_of
from rauq.checkpoints.names import hub_ids, read_name
from rauq.errors import InvalidInput, OutOfMemory
from rauq.labels import FLOATS, LLAMA, TRANSFORMERS, EngineName, number, size
from rauq.llama_cpp.library import is_installed
from rauq.trace.messages import option_names
from rauq.trace.trace import Kind

EMBEDDED = "atlas"

_BILLION = 10**9
_MILLION = 10**6
_WHOLE = 10  # tokens a second that are told without a decimal


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """What an engine would need for a GGUF file: bytes of the weights, and tokens a second at most on one core here."""

    name: EngineName
    bytes_needed: int
    tokens_per_second: float


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model that could be loaded.

    `architecture` is the name of its class, `why_kind` the reason for its kind. `bytes_needed` are those of its weights
    in `dtype`, `bytes_cache` those of the keys and values of the `tokens` that were asked for, `bytes_free` those of
    `device`, with main memory if weights can be placed there too; None is unknown. Loading takes no more than the
    weights. `template_options` are the names of the options that its chat template takes. `quantisation`, such as
    Q4_K_M, and `bytes_in_file` are None unless it is a GGUF file. `hidden_size` is the width of its hidden states, 0
    where its config does not say. `engine` will run it: llama.cpp holds the weights of a GGUF file as they are there,
    transformers dequantised ones; `engines` compares the two where both could. `adapter` is applied to its weights
    ("": none), `notes` say which other files are used differently from how they are stored.
    """

    name: str
    architecture: str
    kind: Kind
    why_kind: str
    num_layers: int
    num_heads: int
    parameters: int
    device: str
    dtype: str
    bytes_needed: int | None
    bytes_free: int | None
    bytes_cache: int | None = 0
    quantisation: str | None = None
    bytes_in_file: int | None = None
    hidden_size: int = 0
    engine: EngineName = TRANSFORMERS
    engines: tuple[EngineInfo, ...] = ()
    template_options: tuple[str, ...] = ()
    adapter: str = ""
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether there is room for the weights and the cache; None where it is not known."""
        if self.bytes_needed is None or self.bytes_free is None:
            return None
        return self.bytes_needed + (self.bytes_cache or 0) <= self.bytes_free


def inspect_model(
    name: str | os.PathLike[str] = EMBEDDED,
    *,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    kind: Kind | None = None,
    engine: str | None = None,
    tokens: int = 0,
) -> ModelInfo:
    """What `load_model` with the same arguments would load, from config and tokenizer: no weights are read.

    Args:
        name: As in `load_model`.
        device: As in `load_model`.
        dtype: As in `load_model`.
        revision: As in `load_model`.
        kind: As in `load_model`.
        engine: As in `load_model`.
        tokens: How many tokens, of prompts and answers together, have to fit beside the weights.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it is not a causal language model, or it needs its own code.
        InvalidInput: unknown device, dtype or kind.

    Example:
        >>> info = rauq.inspect_model("atlas")
        >>> info.kind, info.num_layers, info.fits
        ('base', 12, True)
    """
    return find_model_info(
        name, device=device, dtype=dtype, revision=revision, kind=kind, engine=engine, tokens=tokens
    )[1]


def find_model_info(
    name: str | os.PathLike[str],
    *,
    device: str,
    dtype: str,
    revision: str | None,
    kind: Kind | None,
    engine: str | None = None,
    tokens: int = 0,
    others: Mapping[str, object] = MappingProxyType({}),
) -> tuple[Checkpoint, ModelInfo]:
    """A model's checkpoint, and what is known of it; arguments and errors are those of `inspect_model`.

    `others` are options that only transformers has (`rauq.checkpoints.gguf.engines.Conditions`).
    """
    understood = read_name(name, revision=revision)
    name, revision = understood.source, understood.revision
    _check_choices(name, dtype=dtype, revision=revision, kind=kind)
    embedded = name == EMBEDDED
    place = find_device(device)
    if (named := find_named(name)) is not None:
        checkpoint = find_checkpoint(str(file_of(named)), revision=revision or named.sha256)
    else:
        checkpoint = find_checkpoint(str(ATLAS) if embedded else place_of(name), revision=revision)
    asked, dtype = dtype, dtype_name(checkpoint, device=device, dtype="float32" if embedded else dtype)
    facts, dequantised = checkpoint.facts, _bytes_needed(checkpoint, dtype)
    conditions = Conditions(
        source=checkpoint.source,
        is_gguf=checkpoint.plan is not None,
        has_adapter=checkpoint.adapter is not None,
        on_cpu=place.type == "cpu",
        dtype=asked,
        others=others,
    )
    runs = engine_for(engine, conditions, num_bytes=dequantised)
    found = KindAndReason(kind, "your choice") if kind else kind_of(_names(name, checkpoint), checkpoint)
    text = checkpoint.config.get_text_config(decoder=True)
    return checkpoint, ModelInfo(
        name=name,
        architecture=type(checkpoint.skeleton).__name__,
        kind=found.kind,
        why_kind=found.why,
        num_layers=text.num_hidden_layers,
        num_heads=getattr(text, "num_attention_heads", 0),  # some models have no attention
        hidden_size=getattr(text, "hidden_size", 0),
        parameters=checkpoint.parameters,
        device=str(place),
        dtype=dtype,
        bytes_needed=facts.file_size if facts and runs == LLAMA else dequantised,
        bytes_free=free_memory(device),
        bytes_cache=_bytes_cache(text, "float16" if runs == LLAMA else dtype, tokens),
        engine=runs,
        engines=_engines(checkpoint, dequantised) if place.type == "cpu" else (),
        quantisation=facts.quantisation if facts else None,
        bytes_in_file=facts.file_size if facts else None,
        template_options=option_names(checkpoint.chat_template),
        adapter=str(checkpoint.adapter or ""),
        notes=checkpoint.notes,
    )


def _engines(checkpoint: Checkpoint, dequantised: int | None) -> tuple[EngineInfo, ...]:
    """Both engines, for a GGUF file where llama.cpp is installed: a token reads all weights once."""
    facts = checkpoint.facts
    if facts is None or dequantised is None or checkpoint.adapter is not None or not is_installed():
        return ()
    needed = {TRANSFORMERS: dequantised, LLAMA: facts.file_size}
    return tuple(
        EngineInfo(name=name, bytes_needed=size, tokens_per_second=bytes_per_second() / size)
        for name, size in needed.items()
    )


def _names(name: str, checkpoint: Checkpoint) -> tuple[str, ...]:
    """What a model is called, and where an adapter has no tokenizer of its own, also what its base is called."""
    adapter, own = checkpoint.adapter, (name, *hub_ids(name))
    of_file = checkpoint.facts.names if checkpoint.facts else ()
    if adapter is None or not adapter.base:
        return of_file or own
    return own if adapter.has_tokenizer else (*own, *(of_file or (adapter.base, *hub_ids(adapter.base))))


def refuse_if_too_large(info: ModelInfo) -> None:
    """Refuse a model that does not fit, with what is needed, what is free and what would fit.

    Raises:
        OutOfMemory: the weights do not fit.
    """
    if info.fits is False:
        message = f"{info.name} does not fit. {takes_less(info)}"
        raise OutOfMemory(message)


def takes_less(info: ModelInfo) -> str:
    """For an error: what its weights take and what is free, where that is known, and what takes less."""
    needed, free = info.bytes_needed, info.bytes_free
    if needed is None or free is None:
        return f"Choose a smaller model, or {BFLOAT16}."
    facts = f"Its weights take {size(needed)} in {info.dtype}, and {size(free)} are free on {info.device}."
    half = BYTES_PER_PARAMETER["bfloat16"]
    if free >= (halved := info.parameters * half) < needed:
        return f"{facts} In bfloat16 they take {size(halved)}, which fits: choose {BFLOAT16}."
    if info.fits:
        return f"{facts} More is needed while loading: choose a smaller model, or free memory."
    most = _rounded_down(free // half)
    return f"{facts} Choose a model of at most {most} parameters, in {BFLOAT16}, or free memory."


def _rounded_down(parameters: int) -> str:
    tenths = parameters // (_BILLION // 10)
    return f"{tenths / 10:,.1f} billion" if tenths else f"{parameters:,}"


def _bytes_needed(checkpoint: Checkpoint, dtype: str) -> int | None:
    """None for a dtype without a size, and for packed weights, whose size depends on the kernels that are here."""
    size = BYTES_PER_PARAMETER.get(dtype)
    packed = getattr(checkpoint.config, "quantization_config", None) is not None
    return None if size is None or packed else size * checkpoint.parameters


def _bytes_cache(config: Any, dtype: str, tokens: int) -> int | None:
    """Bytes of the keys and values of all layers, as if none had a sliding window, which needs less."""
    heads = getattr(config, "num_key_value_heads", None) or getattr(config, "num_attention_heads", None)
    width = getattr(config, "head_dim", None)
    if width is None and isinstance(heads, int):
        width = config.hidden_size // config.num_attention_heads
    if dtype not in BYTES_PER_PARAMETER or not (isinstance(heads, int) and isinstance(width, int)):
        return None if tokens else 0  # some configs have a list, a number for each layer
    return 2 * int(config.num_hidden_layers * heads * width * BYTES_PER_PARAMETER[dtype] * tokens)


def _check_choices(name: str, *, dtype: str, revision: str | None, kind: Kind | None) -> None:
    if dtype not in DTYPES:
        message = f"Unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}."
        raise InvalidInput(message)
    if name == EMBEDDED and revision is not None:
        message = f"The embedded model has one revision, its weights' digest; got {revision!r}. Leave the revision out."
        raise InvalidInput(message)
    check_kind(kind)


def model_facts(info: ModelInfo) -> str:
    """What is known about a model before it is loaded, in one line of numbers."""
    parameters = f", {info.parameters / _MILLION:,.1f} million parameters"
    if info.bytes_in_file is not None:
        parameters += f", {size(info.bytes_in_file)} in the file ({info.quantisation})"
    dequantised = " dequantised" if info.quantisation and info.engine == TRANSFORMERS else ""
    needs = "" if info.bytes_needed is None else f", {size(info.bytes_needed)}{dequantised}"
    place = f" by llama.cpp on {info.device}" if info.engine == LLAMA else f" in {info.dtype} on {info.device}"
    free = "" if info.bytes_free is None else f" ({size(info.bytes_free)} free)"
    return "; ".join((f"{info.architecture}{parameters}{needs}{place}{free}", *_about_files(info)))


def model_lines(info: ModelInfo, *, tokens: int, beside: bool) -> tuple[str, ...]:
    """The facts about a model, one per line; `tokens` were asked for; `beside`: jobs use another model."""
    heads = f"{info.architecture}: {info.num_layers} layers of {info.num_heads} heads"
    file = "" if info.bytes_in_file is None else f"{size(info.bytes_in_file)} in the file"
    quantised = f", quantised as {info.quantisation}" if info.quantisation not in (None, *FLOATS) else ""
    memory = "" if info.bytes_needed is None else f"{size(info.bytes_needed)} in memory, "
    cached = f"{size(info.bytes_cache)} more for {tokens:,} tokens" if info.bytes_cache else ""
    found = (
        f"{heads}, {info.parameters / _MILLION:,.1f} million parameters",
        f"{file}{quantised}",
        *_about_files(info),
        f"{memory}{'by llama.cpp' if info.engine == LLAMA else info.dtype} on {info.device}",
        cached,
        *map(_about_engine, info.engines),
        _fit(info, beside=beside),
        f"{info.kind}: {info.why_kind}",
    )
    return tuple(filter(None, found))


def _about_engine(engine: EngineInfo) -> str:
    speed = number(engine.tokens_per_second, places=0 if engine.tokens_per_second >= _WHOLE else 1)
    return f"{engine.name}: {size(engine.bytes_needed)} in memory, at most about {speed} tokens/s on one core"


def _about_files(info: ModelInfo) -> tuple[str, ...]:
    """What is used besides the weights as they are stored, or is left out."""
    return (*((f"with the adapter {info.adapter}",) if info.adapter else ()), *info.notes)


def _fit(info: ModelInfo, *, beside: bool) -> str:
    """Whether a model fits, where that is known."""
    if info.fits is None or info.bytes_free is None:
        return ""
    if info.fits:
        return f"It fits: {size(info.bytes_free)} are free."
    other = " alongside the model in use" if beside else ""
    return f"It does not fit{other}: choose a smaller model, or bfloat16 as its precision."
