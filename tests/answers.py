"""Made-up answers whose every number is random but plausible, for the laws of scoring."""

import numpy as np

from rauq.trace.trace import NUM_BANDS
from tests.traces import make_trace

VOCAB_SIZE = 100


def random_trace(num_tokens, *, seed=0, num_layers=6, num_heads=4, layers=None, **changes):
    """A trace of `num_tokens` tokens: log-probabilities, entropies and every attention weight are drawn at random."""
    rng = np.random.default_rng(seed)
    layers = tuple(range(num_layers)) if layers is None else layers
    fields = {
        "layers": layers,
        "num_layers": num_layers,
        "vocab_size": VOCAB_SIZE,
        "logprobs": np.log(rng.uniform(0.01, 1, num_tokens)),
        "entropies": rng.uniform(0, np.log(VOCAB_SIZE), num_tokens),
        "attention": rng.uniform(0, 1, (len(layers), num_heads, num_tokens + 1, NUM_BANDS)).astype(np.float32),
    }
    return make_trace((b" a",) * num_tokens, **(fields | changes))


def with_attention(weights, **changes):
    """A trace whose previous-token attention, under either alignment, is `weights` (L, H, N - 1)."""
    num_layers, num_heads, gaps = weights.shape
    attention = np.zeros((num_layers, num_heads, gaps + 2, NUM_BANDS), np.float32)
    attention[:, :, 1 : gaps + 1, 0] = weights
    attention[:, :, 2:, 1] = weights
    return random_trace(gaps + 1, num_layers=num_layers, num_heads=num_heads, attention=attention, **changes)
