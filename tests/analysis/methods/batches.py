"""Batches in which attention separates correct from incorrect answers, or does not."""

import numpy as np

from rauq.trace.batch import Batch

NUM_LAYERS, NUM_HEADS, LENGTH = 6, 4, 6


def informative_batch(num_answers=120, *, strength, seed=0, lengths=None):
    """A batch and its quality (A,), 0 or 1: in good answers head 1 looks back by `strength` more than in bad ones.

    Probabilities tell nothing. Head 1 has the highest mean in every layer and answer.
    """
    rng = np.random.default_rng(seed)
    quality = (np.arange(num_answers) % 2).astype(float)
    lengths = np.full(num_answers, LENGTH) if lengths is None else np.asarray(lengths)
    longest = int(lengths.max())
    attention = rng.uniform(0, 0.2, (num_answers, NUM_LAYERS, NUM_HEADS, longest - 1)).astype(np.float32)
    attention[:, :, 1] = rng.uniform(0.4, 0.5, (num_answers, NUM_LAYERS, longest - 1))
    attention[:, :, 1] += strength * quality[:, None, None]
    logprobs = np.log(rng.uniform(0.4, 0.9, (num_answers, longest)))
    behind = np.arange(longest) >= lengths[:, None]
    logprobs[behind] = np.nan
    attention[np.broadcast_to(behind[:, None, None, 1:], attention.shape)] = np.nan
    batch = Batch(
        attention=attention,
        logprobs=logprobs,
        entropies=-logprobs,
        lengths=lengths,
        alignment="predicting",
        kind="base",
        vocab_size=100,
        layers=tuple(range(NUM_LAYERS)),
        num_layers=NUM_LAYERS,
    )
    return batch, quality
