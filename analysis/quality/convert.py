"""Published checkpoints of AlignScore and COMET into folders of safetensors: the only place that opens a pickled file.

It is opened with `weights_only`, so that no code in it runs, once, by the user's command.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors.torch import save_file

from analysis.quality.learned import ALIGNSCORE, COMET, TENSORS, Published, load_alignscore, load_comet
from rauq.errors import InvalidInput, ModelNotFound
from rauq.transformers_api import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

_HEAD_SIZE = 64  # dimensions of an attention head in every RoBERTa; the checkpoint does not say their number
_ALIGNSCORE_ENCODER, _COMET_ENCODER = "base_model.", "encoder.model."
_WORDS, _POSITIONS, _TYPES = (f"embeddings.{what}_embeddings.weight" for what in ("word", "position", "token_type"))
_INNER = "encoder.layer.0.intermediate.dense.weight"

# How COMET combines its layers is stored next to its weights: what can be read, the default of its package first.
_COMET_SETTINGS = MappingProxyType(
    {
        "layer": ("mix",),
        "pool": ("avg",),
        "layer_transformation": ("softmax", "sparsemax"),
        "layer_norm": (True, False),
        "activations": ("Tanh",),
        "final_activation": (None,),
    }
)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What is kept of a checkpoint: tensors of the encoder and of the layers on top of it, and how that is computed."""

    published: Published
    encoder: dict[str, torch.Tensor]
    head: dict[str, torch.Tensor]
    settings: dict[str, Any]


def convert(file: Path, out: Path | None = None, *, tokenizer: str | None = None) -> Path:
    """Make the folder that AlignScore or COMET is read from, and return it.

    `out`: a new folder, by default beside the file and named after it. `tokenizer`: folder or hub id of the one that
    the model was trained with, by default that of the published model.

    Raises:
        InvalidInput: the file is no checkpoint of either, the folder is in use, or the tokenizer is another model's.
        ModelNotFound: there is no tokenizer.
    """
    out = out or file.with_suffix("")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        message = f"{out} exists already: choose another folder with --out."
        raise InvalidInput(message)
    parts = _parts(_read(file), file)
    words = _tokenizer(tokenizer or parts.published.tokenizer, parts)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = Path(folder) / "made"
        _write(made, parts, words)
        _prove(made, parts.published, file)
        made.replace(out)
    return out


def _read(file: Path) -> object:
    if not file.is_file():
        message = f"There is no file {file}: download the published checkpoint first."
        raise InvalidInput(message)
    try:
        loaded: object = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        # The library's own message advises to let the code run; the error behind it names what was found.
        reason = str(error.__context__ or error).strip().partition("\n")[0].partition(". ")[0]
        message = f"{file} is not a checkpoint of weights only, so it is not opened ({reason})."
        raise InvalidInput(message) from error
    return loaded


def _parts(checkpoint: object, file: Path) -> _Parts:
    record = checkpoint if isinstance(checkpoint, dict) else {}
    found = record.get("state_dict")
    tensors = found if isinstance(found, dict) and all(map(torch.is_tensor, found.values())) else {}
    if _has_encoder(tensors, _ALIGNSCORE_ENCODER) and {"tri_layer.weight", "tri_layer.bias"} <= tensors.keys():
        return _alignscore(tensors)
    if (
        _has_encoder(tensors, _COMET_ENCODER)
        and {"layerwise_attention.gamma", "estimator.ff.0.weight"} <= tensors.keys()
    ):
        return _comet(tensors, record.get("hyper_parameters"), file)
    message = (
        f"{file} holds neither AlignScore (base_model.*, tri_layer.*) nor COMET (encoder.model.*, estimator.ff.*). "
        f"Give {ALIGNSCORE.checkpoint} of yzha/AlignScore, or {COMET.checkpoint} of Unbabel/wmt22-comet-da."
    )
    raise InvalidInput(message)


def _alignscore(tensors: Mapping[str, torch.Tensor]) -> _Parts:
    head = {"weight": tensors["tri_layer.weight"], "bias": tensors["tri_layer.bias"]}
    return _Parts(ALIGNSCORE, _below(_ALIGNSCORE_ENCODER, tensors), head, {})


def _comet(tensors: Mapping[str, torch.Tensor], given: object, file: Path) -> _Parts:
    chosen = {name: allowed[0] for name, allowed in _COMET_SETTINGS.items()} | (
        given if isinstance(given, dict) else {}
    )
    for name, allowed in _COMET_SETTINGS.items():
        if chosen[name] not in allowed:
            message = f"{file} is a COMET with {name} {chosen[name]!r}; it must be {' or '.join(map(repr, allowed))}."
            raise InvalidInput(message)
    try:
        head = _comet_head(tensors)
    except (KeyError, ValueError, RuntimeError) as error:
        message = f"{file} lacks parts of COMET: {error}"
        raise InvalidInput(message) from error
    settings = {"transformation": chosen["layer_transformation"], "layer_norm": chosen["layer_norm"]}
    return _Parts(COMET, _below(_COMET_ENCODER, tensors), head, settings)


def _comet_head(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    shares = _below("layerwise_attention.scalar_parameters.", tensors)
    linear = sorted({int(name.partition(".")[0]) for name in _below("estimator.ff.", tensors)})
    layers = {
        f"{place}.{part}": tensors[f"estimator.ff.{layer}.{part}"]
        for place, layer in enumerate(linear)
        for part in ("weight", "bias")
    }
    mix = torch.cat([shares[str(layer)] for layer in range(len(shares))])
    return {"mix": mix, "gamma": tensors["layerwise_attention.gamma"], **layers}


def _tokenizer(source: str, parts: _Parts) -> PreTrainedTokenizerBase:
    try:
        words = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        message = f"The tokenizer {source} cannot be loaded ({reason}): give its folder or hub id with --tokenizer."
        raise ModelNotFound(message) from error
    known = len(parts.encoder[_WORDS])
    if len(words) != known or words.pad_token_id is None:
        message = (
            f"The tokenizer {source} has {len(words)} tokens and the checkpoint {known}: "
            "give the one it was trained with by --tokenizer."
        )
        raise InvalidInput(message)
    return words


def _write(folder: Path, parts: _Parts, words: PreTrainedTokenizerBase) -> None:
    vocabulary, width = parts.encoder[_WORDS].shape
    config = AutoConfig.for_model(
        parts.published.encoder,
        vocab_size=vocabulary,
        hidden_size=width,
        num_attention_heads=width // _HEAD_SIZE,
        num_hidden_layers=len({name.split(".")[2] for name in parts.encoder if name.startswith("encoder.layer.")}),
        intermediate_size=len(parts.encoder[_INNER]),
        max_position_embeddings=len(parts.encoder[_POSITIONS]),
        type_vocab_size=len(parts.encoder[_TYPES]),
        layer_norm_eps=1e-5,
        pad_token_id=words.pad_token_id,
        measure={"id": parts.published.id, **parts.settings},
    )
    config.save_pretrained(folder)
    words.save_pretrained(folder)
    named = {f"encoder.{name}": tensor for name, tensor in parts.encoder.items()}
    named |= {f"head.{name}": tensor for name, tensor in parts.head.items()}
    copies = {name: tensor.to(torch.float32, copy=True).contiguous() for name, tensor in named.items()}
    save_file(copies, folder / TENSORS)


def _prove(folder: Path, published: Published, file: Path) -> None:
    try:
        if published is COMET:
            load_comet(folder)([("a", "b", "c")])
        else:
            load_alignscore(folder)([("a", "b")])
    except Exception as error:
        message = f"{file} lacks parts of {published.name}, or its parts do not fit: {error.__cause__ or error}"
        raise InvalidInput(message) from error


def _has_encoder(tensors: Mapping[str, torch.Tensor], prefix: str) -> bool:
    """Whether the matrices that determine the sizes of the encoder are present."""
    names = [prefix + name for name in (_WORDS, _POSITIONS, _TYPES, _INNER)]
    return all(name in tensors and tensors[name].ndim == 2 for name in names)


def _below(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors of one part; position ids are counted anew."""
    names = (name for name in tensors if name.startswith(prefix) and not name.endswith("position_ids"))
    return {name.removeprefix(prefix): tensors[name] for name in names}
