"""Traces with known numbers, made without a model."""

import re
from codecs import getincrementaldecoder
from dataclasses import replace
from itertools import cycle

import numpy as np

from rauq.trace.attribution import Attribution
from rauq.trace.trace import NUM_BANDS, Alternative, Trace


def with_offsets(trace, count):
    """The trace with the attention of so many offsets: what it lacks is small."""
    lacking = count - trace.attention.shape[-1]
    return replace(trace, attention=np.pad(trace.attention, [(0, 0)] * 3 + [(0, lacking)], constant_values=0.01))


def make_trace(pieces=(b" Oslo", b" is", b" it"), *, probabilities=None, num_layers=6, num_heads=4, seed=0, **changes):
    """A trace whose attention is random, and whose head l % H of layer l clearly attends to the previous token."""
    rng = np.random.default_rng(seed)
    num_tokens = len(pieces)
    attention = rng.uniform(0, 0.1, (num_layers, num_heads, num_tokens + 1, NUM_BANDS)).astype(np.float32)
    for layer in range(num_layers):
        attention[layer, layer % num_heads, :, :2] += 0.5
    probabilities = np.full(num_tokens, 0.9) if probabilities is None else np.asarray(probabilities)
    fields = {
        "prompt": "Where?",
        "model": "made-up",
        "revision": "0",
        "kind": "base",
        "chat_applied": False,
        "stop_reason": "eos",
        "layers": tuple(range(num_layers)),
        "num_layers": num_layers,
        "vocab_size": 100,
        "prompt_ids": np.arange(3),
        "answer_ids": np.arange(num_tokens) % 100,
        "answer_tokens": tuple(piece.decode("utf-8", "replace") for piece in pieces),
        "pieces": tuple(pieces),
        "logprobs": np.log(probabilities),
        "entropies": rng.uniform(0, 2, num_tokens),
        "alternatives": tuple((Alternative(token % 100, "a", -1.0),) for token in range(num_tokens)),
        "attention": attention,
    }
    return Trace(**(fields | changes))


def trace_of_text(text, *, sizes=(5, 4, 7, 3, 6), **changes):
    """A trace whose tokens begin at spaces and line breaks, and after these numbers of bytes: they cut characters.

    A line break is a token of its own where ASCII follows, and else begins that of the next word.
    """
    pieces = []
    lengths = cycle(sizes)
    for word in re.split(rb"(?=[ \n])|(?<=\n)(?=[\x00-\x7f])", text.encode()):
        rest = word
        while rest:
            length = next(lengths)
            pieces.append(rest[:length])
            rest = rest[length:]
    decoder = getincrementaldecoder("utf-8")("replace")
    texts = tuple(decoder.decode(piece) for piece in pieces)
    return make_trace(tuple(pieces), **({"prompt": text, "answer_tokens": texts} | changes))


def as_lig(trace, *, layers=(2, 3), **how):
    """The trace as if the weights of these layers were LIG attributions."""
    rows = [trace.layers.index(layer) for layer in layers]
    attribution = Attribution(**({"steps": 2, "median_error": 0.001, "max_error": 0.002} | how))
    return replace(trace, layers=layers, attention=trace.attention[rows][..., :1], extras={}, attribution=attribution)
