"""Measures of quality that are models, AlignScore and COMET: what their folder holds, and how they score."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from analysis.normalisation import split_sentences
from rauq.checkpoints.loading import find_device
from rauq.errors import ModelNotFound
from rauq.layout import ANALYSIS_COMMAND
from rauq.transformers_api import AutoConfig, AutoModel, AutoTokenizer, PreTrainedConfig, PreTrainedModel

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
    """A model of quality, in memory: `head` are the layers on top of its encoder, `settings` how they are computed."""

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
    make = f"Make it once: {ANALYSIS_COMMAND} convert {published.checkpoint} --out FOLDER."
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


_CHUNK = 350  # words of a context that fit into the encoder together with a sentence
_EMPTY = "(empty)"  # what is read in place of a text without words, as in the reference


def load_alignscore(folder: Path | None) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """The score (0 to 1) of pairs of context and claim.

    Raises:
        ModelNotFound: the folder does not hold the weights.
    """
    return partial(_scores, open_weights(folder, ALIGNSCORE))


def split_context(context: str) -> list[str]:
    """A context in chunks of whole sentences, of about 350 words each."""
    sentences = split_sentences(context)
    size = max(len(sentences) // (len(context.split()) // _CHUNK + 1), 1)
    return [" ".join(sentences[start : start + size]) for start in range(0, len(sentences), size)]


def _scores(weights: Weights, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """For each sentence of the claim the chunk that supports it best; the mean over the sentences."""
    if not pairs:
        return []
    cut = [
        (split_context(context.strip() or _EMPTY), split_sentences(claim.strip() or _EMPTY)) for context, claim in pairs
    ]
    aligned = _aligned(weights, [pair for chunks, sentences in cut for pair in product(chunks, sentences)])
    ends = np.cumsum([len(chunks) * len(sentences) for chunks, sentences in cut])
    parts = np.split(aligned, ends[:-1])
    return [
        float(part.reshape(len(chunks), len(sentences)).max(axis=0).mean())
        for part, (chunks, sentences) in zip(parts, cut, strict=True)
    ]


@torch.inference_mode()
def _aligned(weights: Weights, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Probability (P,) that a sentence is aligned with a chunk, for each pair."""
    aligned = np.empty(len(pairs))
    for places, inputs in by_length(weights, [_ids(weights, *pair) for pair in pairs]):
        pooled = weights.encoder(**inputs).pooler_output
        logits = torch.nn.functional.linear(pooled, weights.head["weight"], weights.head["bias"])
        aligned[places] = logits.softmax(dim=-1)[:, 0].cpu().numpy()
    return aligned


def _ids(weights: Weights, chunk: str, sentence: str) -> list[int]:
    # The chunk is truncated, not the sentence, unless the sentence alone is too long.
    alone = len(weights.tokenizer("", sentence, verbose=False)["input_ids"])
    truncation = "only_first" if alone < weights.longest else "longest_first"
    ids = weights.tokenizer(chunk, sentence, truncation=truncation, max_length=weights.longest)["input_ids"]
    return list(ids)


def load_comet(folder: Path | None) -> Callable[[Sequence[tuple[str, str, str]]], list[float]]:
    """The score of triples of source, translation and reference.

    Raises:
        ModelNotFound: the folder does not hold the weights.
    """
    return partial(_comet_scores, open_weights(folder, COMET))


@torch.inference_mode()
def _comet_scores(weights: Weights, triples: Sequence[tuple[str, str, str]]) -> list[float]:
    if not triples:
        return []
    texts = sorted({text for triple in triples for text in triple})
    embedded = dict(zip(texts, _embedded(weights, texts), strict=True))
    source, answer, reference = (torch.stack([embedded[triple[part]] for triple in triples]) for part in range(3))
    features = [answer, reference, answer * reference, (answer - reference).abs()]
    features += [answer * source, (answer - source).abs()]
    return list(_estimated(weights, torch.cat(features, dim=-1)).tolist())


def _embedded(weights: Weights, texts: Sequence[str]) -> list[torch.Tensor]:
    """One vector (D,) a text: the mean over its tokens of the mixture of all layers."""
    ids = weights.tokenizer(list(texts), truncation=True, max_length=weights.longest)["input_ids"]
    found: dict[int, torch.Tensor] = {}
    for places, inputs in by_length(weights, ids):
        layers = weights.encoder(**inputs, output_hidden_states=True).hidden_states
        there = inputs["attention_mask"][..., None].to(layers[0].dtype)  # (B, T, 1)
        means = (_mixture(weights, layers, there) * there).sum(dim=1) / there.sum(dim=1)
        found.update(zip(places, means, strict=True))
    return [found[place] for place in range(len(texts))]


def _mixture(weights: Weights, layers: Sequence[torch.Tensor], there: torch.Tensor) -> torch.Tensor:
    """The layers (B, T, D), embeddings first, in their learned shares."""
    logits = weights.head["mix"]
    shares = sparsemax(logits) if weights.settings["transformation"] == "sparsemax" else logits.softmax(dim=0)
    normed = (_normed(layer, there) if weights.settings["layer_norm"] else layer for layer in layers)
    mixed = torch.stack([share * layer for share, layer in zip(shares, normed, strict=True)]).sum(dim=0)
    return weights.head["gamma"] * mixed


def _normed(layer: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """A layer less its mean and over its deviation, both over all tokens and dimensions of a text."""
    numbers = there.sum(dim=(1, 2), keepdim=True) * layer.shape[-1]
    centred = layer - (layer * there).sum(dim=(1, 2), keepdim=True) / numbers
    variance = ((centred * there) ** 2).sum(dim=(1, 2), keepdim=True) / numbers
    return centred / (variance + 1e-12).sqrt()


def sparsemax(logits: torch.Tensor) -> torch.Tensor:
    """The point of the simplex nearest to the logits (L,): like softmax, but small shares are 0.

    Source: Martins and Astudillo (2016).
    """
    ordered = logits.sort(descending=True).values
    surplus = (ordered.cumsum(dim=0) - 1) / torch.arange(1, len(ordered) + 1, device=logits.device)
    threshold = surplus[(ordered > surplus).sum() - 1]
    return (logits - threshold).clamp(min=0)


def _estimated(weights: Weights, features: torch.Tensor) -> torch.Tensor:
    """The score (B,) of the features (B, 6 D): linear layers with tanh between them."""
    depth = sum(name.endswith(".weight") for name in weights.head)
    for layer in range(depth):
        features = torch.nn.functional.linear(features, weights.head[f"{layer}.weight"], weights.head[f"{layer}.bias"])
        features = features.tanh() if layer < depth - 1 else features
    return features[:, 0]
