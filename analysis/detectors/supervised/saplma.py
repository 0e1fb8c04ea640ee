"""Fitting SAPLMA: a network that predicts 1 - quality from the middle layer's mean state (Azaria and Mitchell, 2023).

Kept of the reference: the prompt counts in the mean, nothing is scaled, batches are in the order of the answers.
Mended: it goes on training one network through all folds of its search, so that later folds judge answers already
trained on; here each fold trains a new one. A fold of one class has no area there, and rules its settings out; here it
is left out. There the score is always put through a sigmoid; here only where quality is 0 or 1.
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
    minus_squared_error,
    outputs_of,
    trained,
)
from analysis.detectors.supervised.training_set import TrainingSet, training_set
from rauq.detectors.hidden_states import Saplma

if TYPE_CHECKING:
    from torch import nn

_FULL = grid(epochs=(5, 10), batch_sizes=(64, 128), rates=(1e-3, 1e-4, 5e-5, 1e-5, 5e-6))
_REDUCED = grid(epochs=(10,), batch_sizes=(64,), rates=(1e-3, 1e-4, 1e-5))


def search(
    features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int = 42, full: bool = False
) -> NetworkSettings:
    """Choose settings by five folds: the lowest squared error, or where quality is 0 or 1 the highest ROC-AUC.

    The full grid, that of the reference, has 20 settings: epochs 5, 10; batches of 64, 128; learning rates 1e-3, 1e-4,
    5e-5, 1e-5, 5e-6. The reduced one has 3: 10 epochs, batches of 64, learning rates 1e-3, 1e-4, 1e-5.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)
    binary = _is_binary(given)

    def judged(settings: NetworkSettings, seen: TrainingSet, held: TrainingSet) -> float:
        found = outputs_of(_trained(seen, settings, binary=binary, seed=seed), held.features)[:, 0]
        return area(found, seen, held) if binary else minus_squared_error(found, held)

    return best_settings(given, _FULL if full else _REDUCED, judged)


def fit(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: NetworkSettings,
    seed: int = 42,
) -> Saplma:
    """Train on A answers of quality (A,) and features (d,) each, by squared error; by cross-entropy where it is 0 or 1.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)
    binary = _is_binary(given)
    arrays = arrays_of(_trained(given, settings, binary=binary, seed=seed))
    return Saplma(output="sigmoid" if binary else "identity", **arrays)


def _is_binary(given: TrainingSet) -> bool:
    return bool(np.isin(given.quality, (0.0, 1.0)).all())


def _trained(given: TrainingSet, settings: NetworkSettings, *, binary: bool, seed: int) -> "nn.Sequential":
    import torch
    from torch.nn import functional

    targets = torch.tensor(1 - given.quality, dtype=torch.float32)[:, None]  # (n, 1), as the outputs
    loss = functional.binary_cross_entropy_with_logits if binary else functional.mse_loss
    return trained(given.features, Network(outputs=1, targets=targets, loss=loss), settings, seed=seed)
