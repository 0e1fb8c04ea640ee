"""Fitting MIND: a network that tells incorrect answers by the last layer's hidden states (Su et al., 2024).

Kept of the reference: nothing is scaled, and batches are in the order of the answers. Mended: it is seeded; each fold
of the search trains a new network, where the reference goes on with one, which has then seen the answers it is judged
on; and a fold of one class is left out of the mean. An answer whose quality is the threshold is incorrect here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from analysis.detectors.supervised.networks import (
    Network,
    NetworkSettings,
    area,
    arrays_of,
    best_settings,
    grid,
    outputs_of,
    trained,
)
from analysis.detectors.supervised.training_set import TrainingSet, training_set
from rauq.detectors.hidden_states import Mind

if TYPE_CHECKING:
    from torch import nn

_DROPOUT = 0.2
_FULL = grid(epochs=(10, 20), batch_sizes=(32, 64), rates=(1e-3, 1e-4, 5e-4, 5e-5, 1e-5, 5e-6))
_REDUCED = grid(epochs=(20,), batch_sizes=(32,), rates=(1e-3, 1e-4, 1e-5))


def search(
    features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int = 42, full: bool = False
) -> NetworkSettings:
    """Choose settings by the mean ROC-AUC over five folds.

    The full grid, that of the reference, has 24 settings: epochs 10, 20; batches of 32, 64; learning rates 1e-3, 1e-4,
    5e-4, 5e-5, 1e-5, 5e-6. The reduced one has 3: 20 epochs, batches of 32, learning rates 1e-3, 1e-4, 1e-5.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)

    def judged(settings: NetworkSettings, seen: TrainingSet, held: TrainingSet) -> float:
        correct, incorrect = outputs_of(_trained(seen, settings, seed=seed), held.features).T
        return area(incorrect - correct, seen, held)

    return best_settings(given, _FULL if full else _REDUCED, judged)


def fit(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: NetworkSettings,
    seed: int = 42,
) -> Mind:
    """Train on A answers of quality (A,) and features (d,) each, by cross-entropy in which both classes weigh equally.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)
    return Mind(**arrays_of(_trained(given, settings, seed=seed)))


def _trained(given: TrainingSet, settings: NetworkSettings, *, seed: int) -> "nn.Sequential":
    import torch
    from torch.nn import CrossEntropyLoss

    incorrect = torch.tensor(~given.correct, dtype=torch.int64)
    weights = 1 - torch.bincount(incorrect, minlength=2) / len(incorrect)
    network = Network(outputs=2, targets=incorrect, loss=CrossEntropyLoss(weight=weights), dropout=_DROPOUT)
    return trained(given.features, network, settings, seed=seed)
