"""COMET: how good a translation is, given its source and a reference, by XLM-RoBERTa with an estimator on top.

Built after the papers of Rei et al. (2020, 2022) and the published checkpoint Unbabel/wmt22-comet-da. A score is about
0 to 1, and unbounded.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from analysis.quality.weights import COMET, Weights, by_length, open_weights


def load_comet(folder: Path | None) -> Callable[[Sequence[tuple[str, str, str]]], list[float]]:
    """The score of triples of source, translation and reference.

    Raises:
        ModelNotFound: the folder does not hold the weights.
    """
    return partial(_scores, open_weights(folder, COMET))


@torch.inference_mode()
def _scores(weights: Weights, triples: Sequence[tuple[str, str, str]]) -> list[float]:
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
