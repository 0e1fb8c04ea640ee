"""Made-up features of labelled answers, in which some numbers say which answers are correct."""

import numpy as np

OFFSETS, WEIGHTS = 3, 4


def halves_of(features, quality, count):
    """The first `count` answers, to fit on, and the others."""
    return (features[:count], quality[:count]), (features[count:], quality[count:])


def shuffled(quality, *, seed=0):
    return np.random.default_rng(seed).permutation(quality)


def tad_features(rng, num_tokens):
    """(N, n, L H + 1) at random, 0 where the key is not of the answer."""
    found = rng.uniform(0, 1, (num_tokens, OFFSETS, WEIGHTS + 1))
    found[..., -1] = rng.uniform(0.05, 1, num_tokens)[:, None]
    for token in range(min(num_tokens, OFFSETS)):
        found[token, token:, :-1] = 0
    return found


def tad_answers(size=60, *, seed=0, signal=1.0, least=1):
    """Correct answers, in every second place, attend more to the previous token, with head 2."""
    rng = np.random.default_rng(seed)
    features = [tad_features(rng, int(rng.integers(least, 8))) for _ in range(size)]
    quality = (np.arange(size) % 2).astype(float)
    for one, correct in zip(features, quality, strict=True):
        one[1:, 0, 2] = 0.5 * one[1:, 0, 2] + 0.5 * signal * correct
    return features, quality


def layer_answers(size=60, *, seed=0, signal=2.0, num_layers=3, width=6, others=2):
    """(L, N, d + others): the rows of incorrect answers are shifted in layer 1, those of one sign and the other."""
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(num_layers, int(rng.integers(2, 7)), width + others)) for _ in range(size)]
    quality = (np.arange(size) % 2).astype(float)
    for one, correct in zip(features, quality, strict=True):
        one[1, :, 0] += signal * (1 - correct)
    return features, quality
