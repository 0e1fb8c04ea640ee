"""AlignScore: how far a context supports a claim, by RoBERTa with a head for aligned, contradicted and neutral.

Built after the paper of Zha et al. (2023) and its published checkpoint, in the mode that cuts the context into chunks
and the claim into sentences. Sentences end where `sentences.py` says; the authors use a trained model for that.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch

from analysis.quality.sentences import split_sentences
from analysis.quality.weights import ALIGNSCORE, Weights, by_length, open_weights

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
    # The chunk gives way to the sentence, unless the sentence alone is too long.
    alone = len(weights.tokenizer("", sentence, verbose=False)["input_ids"])
    truncation = "only_first" if alone < weights.longest else "longest_first"
    ids = weights.tokenizer(chunk, sentence, truncation=truncation, max_length=weights.longest)["input_ids"]
    return list(ids)
