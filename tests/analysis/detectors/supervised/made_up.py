"""Labelled features that a detector can learn from: correct answers lie to one side."""

import numpy as np

NUM, WIDTH = 60, 6


def labelled(*, seed=0, binary=True, count=NUM, width=WIDTH):
    """Features (A, K) and quality (A,); the first feature says which answers are correct."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, width))
    quality = 1 / (1 + np.exp(-3 * features[:, 0]))
    return list(features), (quality > 0.5).astype(float) if binary else quality
