"""The head that an answer picks in a layer: the one with the largest mean attention to the previous token."""

import numpy as np

NO_HEAD = -1


def pick(means: np.ndarray) -> np.ndarray:
    """Index of the largest mean along the last axis of `means` (..., H), the lowest among equal ones (paper, eq. 1).

    -1 where a mean is undefined, as in an answer of one token.
    """
    undefined = np.isnan(means).any(axis=-1)
    return np.where(undefined, NO_HEAD, np.where(np.isnan(means), -np.inf, means).argmax(axis=-1))


def of_picked(means: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """The mean of the picked head: `means` (..., H) at `picks` (...), nan where no head was picked."""
    taken = np.take_along_axis(means, np.maximum(picks, 0)[..., None], axis=-1)[..., 0]
    return np.where(picks == NO_HEAD, np.nan, taken)
