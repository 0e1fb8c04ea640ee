"""Mean attention and quality of made-up answers, in which head 2 of layer 1 attends more where quality is high."""

import numpy as np

LAYERS, HEADS = 4, 5
INFORMATIVE = (1, 2)


def made_up(num_answers=60, *, seed=0, effect=0.3):
    """Means (A, L, H) and quality (A,) of 0 or 1; no two means are equal."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0, 0.2, (num_answers, LAYERS, HEADS))
    quality = (np.arange(num_answers) % 3 > 0).astype(float)
    means[:, *INFORMATIVE] += 0.3 + effect * quality
    return means, quality
