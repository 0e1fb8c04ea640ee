"""Tiny random checkpoints in the layout that AlignScore and COMET are published in, and what they should compute.

The forward pass is written out in numpy from the definition, one text at a time: no padding, nothing of transformers.
"""

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import erf, softmax
from tokenizers.processors import TemplateProcessing

from tests.architectures import byte_tokenizer

WIDTH, INNER, LAYERS, POSITIONS, HEADS = 128, 48, 2, 130, 2
LONGEST = POSITIONS - 1  # the byte tokenizer pads with token 0, so that one position is never used
BEGIN, END = 1, 2
BATCH_NORM = 1e-12


def pair_tokenizer():
    """Bytes in the frame of RoBERTa: <s> a </s>, and <s> a </s></s> b </s>."""
    tokenizer = byte_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", BEGIN), ("</s>", END)]
    )
    return tokenizer


def ids_of(text):
    return byte_tokenizer()(text)["input_ids"]


def alignscore_checkpoint(seed=0):
    state = encoder_state("base_model.", seed)
    rng = torch.Generator().manual_seed(seed + 1)
    for name, size in {"base_model.pooler.dense": WIDTH, "bin_layer": 2, "tri_layer": 3, "reg_layer": 1}.items():
        state |= linear(name, size, WIDTH, rng)
    return lightning(state | linear("mlm_head.dense", WIDTH, WIDTH, rng), {"model": "roberta-large"})


def comet_checkpoint(seed=0, **changes):
    state = encoder_state("encoder.model.", seed)
    rng = torch.Generator().manual_seed(seed + 1)
    for layer in range(LAYERS + 1):
        state[f"layerwise_attention.scalar_parameters.{layer}"] = torch.randn(1, generator=rng) / 2
    state["layerwise_attention.gamma"] = torch.tensor([1.3])
    state["layerwise_attention.dropout_mask"] = torch.zeros(LAYERS + 1)
    state |= linear("estimator.ff.0", 20, 6 * WIDTH, rng) | linear("estimator.ff.3", 10, 20, rng)
    settings = {"layer": "mix", "pool": "avg", "layer_transformation": "sparsemax", "layer_norm": False}
    settings |= {"activations": "Tanh", "final_activation": None, "hidden_sizes": [20, 10], **changes}
    return lightning(state | linear("estimator.ff.6", 1, 10, rng), settings)


def lightning(state, settings):
    rest = {"epoch": 1, "global_step": 9, "pytorch-lightning_version": "1.7.7", "callbacks": {}, "optimizer_states": []}
    return {"state_dict": state, "hyper_parameters": settings, **rest}


def encoder_state(prefix, seed):
    rng = torch.Generator().manual_seed(seed)
    state = {f"{prefix}embeddings.position_ids": torch.arange(POSITIONS)[None]}
    for name, rows in {"word": len(pair_tokenizer()), "position": POSITIONS, "token_type": 1}.items():
        state[f"{prefix}embeddings.{name}_embeddings.weight"] = (
            torch.randn(rows, WIDTH, generator=rng) / 200
        )  # epsilon counts
    state |= norm(f"{prefix}embeddings.LayerNorm", rng)
    for layer in range(LAYERS):
        here = f"{prefix}encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            state |= linear(f"{here}attention.self.{part}", WIDTH, WIDTH, rng)
        state |= linear(f"{here}attention.output.dense", WIDTH, WIDTH, rng)
        state |= linear(f"{here}intermediate.dense", INNER, WIDTH, rng) | linear(
            f"{here}output.dense", WIDTH, INNER, rng
        )
        state |= norm(f"{here}attention.output.LayerNorm", rng) | norm(f"{here}output.LayerNorm", rng)
    return state


def linear(name, rows, columns, rng):
    weight = 2 * torch.randn(rows, columns, generator=rng) / columns**0.5
    return {f"{name}.weight": weight, f"{name}.bias": torch.randn(rows, generator=rng) / 5}


def norm(name, rng):
    return {
        f"{name}.weight": 1 + torch.randn(WIDTH, generator=rng) / 5,
        f"{name}.bias": torch.randn(WIDTH, generator=rng),
    }


def aligned(checkpoint, chunk, sentence):
    """Probability that a sentence is aligned with a chunk, which is cut where both are too long."""
    state, tail = arrays(checkpoint), [END, END, *ids_of(sentence), END]
    ids = [BEGIN, *ids_of(chunk)[: LONGEST - 1 - len(tail)], *tail]
    first = layers_of(state, "base_model.", ids)[-1][0]
    return softmax(dense(state, "tri_layer", np.tanh(dense(state, "base_model.pooler.dense", first))))[0]


def comet_score(checkpoint, source, answer, reference):
    state, settings = arrays(checkpoint), checkpoint["hyper_parameters"]
    s, a, r = (embedding(state, settings, text) for text in (source, answer, reference))
    features = np.concatenate([a, r, a * r, abs(a - r), a * s, abs(a - s)])
    for layer in (0, 3):
        features = np.tanh(dense(state, f"estimator.ff.{layer}", features))
    return dense(state, "estimator.ff.6", features)[0]


def embedding(state, settings, text):
    layers = layers_of(state, "encoder.model.", [BEGIN, *ids_of(text)[: LONGEST - 2], END])
    if settings["layer_norm"]:
        layers = [(layer - layer.mean()) / np.sqrt(layer.var() + BATCH_NORM) for layer in layers]
    logits = np.array([state[f"layerwise_attention.scalar_parameters.{layer}"][0] for layer in range(len(layers))])
    shares = nearest_shares(logits) if settings["layer_transformation"] == "sparsemax" else softmax(logits)
    mixed = sum(share * layer for share, layer in zip(shares, layers, strict=True))
    return (state["layerwise_attention.gamma"] * mixed).mean(axis=0)


def nearest_shares(logits):
    """The nearest point of the simplex: all logits less one number, cut at 0, sum to 1."""
    less = brentq(lambda number: np.maximum(logits - number, 0).sum() - 1, logits.min() - 1, logits.max())
    return np.maximum(logits - less, 0)


def layers_of(state, prefix, ids):
    """Hidden states (T, D) of the embeddings and of every layer."""
    tables = [state[f"{prefix}embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    found = [
        normed(state, f"{prefix}embeddings.LayerNorm", tables[0][ids] + tables[1][1 : len(ids) + 1] + tables[2][0])
    ]
    for layer in range(LAYERS):
        here = f"{prefix}encoder.layer.{layer}."
        attended = dense(state, f"{here}attention.output.dense", attention(state, f"{here}attention.self.", found[-1]))
        middle = normed(state, f"{here}attention.output.LayerNorm", found[-1] + attended)
        inner = dense(state, f"{here}intermediate.dense", middle)
        outer = dense(state, f"{here}output.dense", inner * (1 + erf(inner / 2**0.5)) / 2)
        found.append(normed(state, f"{here}output.LayerNorm", middle + outer))
    return found


def attention(state, prefix, hidden):
    query, key, value = (
        np.split(dense(state, prefix + part, hidden), HEADS, axis=-1) for part in ("query", "key", "value")
    )
    weights = [softmax(q @ k.T / (WIDTH / HEADS) ** 0.5, axis=-1) for q, k in zip(query, key, strict=True)]
    return np.concatenate([w @ v for w, v in zip(weights, value, strict=True)], axis=-1)


def dense(state, name, values):
    return values @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def normed(state, name, values):
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(values.var(axis=-1, keepdims=True) + 1e-5)
    return centred / deviation * state[f"{name}.weight"] + state[f"{name}.bias"]


def arrays(checkpoint):
    return {name: tensor.double().numpy() for name, tensor in checkpoint["state_dict"].items()}
