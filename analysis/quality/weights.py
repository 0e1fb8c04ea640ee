"""Measures of quality that are models: what their folder holds, and how it is read.

`python -m analysis convert` makes the folder from the published checkpoint: config.json, model.safetensors (tensors of
the encoder, `encoder.*`, and of what stands on it, `head.*`) and the files of the tokenizer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedConfig, PreTrainedModel

from rauq.errors import ModelNotFound
from rauq.loading import find_device

TENSORS = "model.safetensors"
_BATCH = 16


@dataclass(frozen=True)
class Published:
    """A model of quality as its authors published it: the checkpoint, the tokenizer it was trained with, the encoder.

    `pooled`: whether its encoder has the layer above the first token.
    """

    id: str
    name: str
    checkpoint: str
    tokenizer: str
    encoder: str
    pooled: bool


ALIGNSCORE = Published(
    id="alignscore",
    name="AlignScore",
    checkpoint="AlignScore-large.ckpt",
    tokenizer="FacebookAI/roberta-large",
    encoder="roberta",
    pooled=True,
)
COMET = Published(
    id="comet",
    name="COMET",
    checkpoint="model.ckpt",
    tokenizer="FacebookAI/xlm-roberta-large",
    encoder="xlm-roberta",
    pooled=False,
)


@dataclass(frozen=True, eq=False)
class Weights:
    """A model of quality, in memory: what stands on its encoder is `head`; `settings` say how that is computed."""

    encoder: Any
    tokenizer: Any
    head: dict[str, torch.Tensor]
    settings: dict[str, Any]

    @property
    def longest(self) -> int:
        """Tokens that the encoder reads; its first positions belong to the padding."""
        return int(self.encoder.config.max_position_embeddings - self.encoder.config.pad_token_id - 1)


def open_weights(folder: Path | None, published: Published) -> Weights:
    """Read the weights of a model of quality from its folder, onto a GPU where there is one.

    Raises:
        ModelNotFound: they are not there, are another model's, or cannot be read.
    """
    make = f"Make it once: python -m analysis convert {published.checkpoint} --out FOLDER."
    if folder is None:
        message = f"{published.name} needs the folder of its weights. {make}"
        raise ModelNotFound(message)
    missing = [name for name in ("config.json", TENSORS) if not (folder / name).is_file()]
    if missing:
        message = f"The folder {folder} has no {' and no '.join(missing)} of {published.name}. {make}"
        raise ModelNotFound(message)
    try:
        weights = _read(folder, published)
    except Exception as error:  # other people's files fail in any way
        reason = str(error).strip().partition("\n")[0]
        message = f"The weights of {published.name} in {folder} cannot be read ({reason}). {make}"
        raise ModelNotFound(message) from error
    if weights.settings.get("id") != published.id:
        message = f"The weights in {folder} are not those of {published.name}. {make}"
        raise ModelNotFound(message)
    return weights


def by_length(weights: Weights, ids: Sequence[list[int]]) -> Iterator[tuple[list[int], Any]]:
    """Batches of similar length: the places of their texts, and ids and mask on the device of the encoder."""
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    for start in range(0, len(order), _BATCH):
        places = order[start : start + _BATCH]
        padded = weights.tokenizer.pad({"input_ids": [ids[place] for place in places]}, return_tensors="pt")
        yield places, {name: padded[name].to(weights.encoder.device) for name in ("input_ids", "attention_mask")}


def _read(folder: Path, published: Published) -> Weights:
    here = {"local_files_only": True, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(folder, **here)
    device = find_device("auto")
    tensors = load_file(folder / TENSORS, device=str(device))
    return Weights(
        encoder=_encoder(config, _below("encoder.", tensors), pooled=published.pooled, device=device),
        tokenizer=AutoTokenizer.from_pretrained(folder, **here),
        head=_below("head.", tensors),
        settings=config.measure,
    )


def _encoder(
    config: PreTrainedConfig, tensors: dict[str, torch.Tensor], *, pooled: bool, device: torch.device
) -> PreTrainedModel:
    with torch.device("meta"):  # random weights of this size would take longer than all else
        encoder = AutoModel.from_config(config, add_pooling_layer=pooled)
    encoder.load_state_dict(tensors, assign=True)
    positions = torch.arange(config.max_position_embeddings, device=device)[None]  # not in the file: they are counted
    encoder.embeddings.position_ids, encoder.embeddings.token_type_ids = positions, torch.zeros_like(positions)
    return encoder.requires_grad_(requires_grad=False).eval()


def _below(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
