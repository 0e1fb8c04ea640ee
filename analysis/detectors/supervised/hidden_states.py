"""Fitting SAPLMA and MIND (`rauq.detectors.hidden_states`): small networks on one vector of hidden states per answer.

Both are seeded, and trained on one thread. As in the reference code, nothing is scaled, and batches are in the order of
the answers. Unlike there, each fold of the search trains a new network: the reference trains one network through all
folds, so that later folds judge answers that it was trained on.

SAPLMA (Azaria and Mitchell, 2023) predicts 1 - quality from the middle layer's mean state, over prompt and answer as in
the reference. A fold of one class, which has no ROC-AUC, is left out here; in the reference it rules its settings out.
The reference always puts the score through a sigmoid; here only where quality is 0 or 1.

MIND (Su et al., 2024) recognises incorrect answers by the last layer's hidden states. Unlike the reference, it is
seeded, and a fold of one class is left out of the mean. An answer whose quality is the threshold is incorrect here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analysis.detectors.supervised.training_set import TrainingSet, folds, reproducible, training_set
from analysis.stats import roc_auc
from rauq.detectors.hidden_states import Mind, Saplma
from rauq.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn


_WIDTHS = (256, 128, 64)

Loss = Callable[["Tensor", "Tensor"], "Tensor"]
"""Outputs (b, k) and targets (b, ...) of a batch to what is minimised."""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """How a network is trained: AdamW with weight decay 0.01, in batches in the order of the answers."""

    epochs: int
    batch_size: int
    learning_rate: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """What is trained: a perceptron of so many `outputs`, with `dropout` of its inputs, on `targets` (n, ...)."""

    outputs: int
    targets: "Tensor"
    loss: Loss
    dropout: float = 0.0


def grid(*, epochs: Sequence[int], batch_sizes: Sequence[int], rates: Sequence[float]) -> tuple[NetworkSettings, ...]:
    """Every combination; the epochs change slowest, the learning rate changes fastest."""
    return tuple(
        NetworkSettings(epochs=count, batch_size=size, learning_rate=rate)
        for count in epochs
        for size in batch_sizes
        for rate in rates
    )


def trained(features: np.ndarray, network: Network, settings: NetworkSettings, *, seed: int) -> "nn.Sequential":
    """Train a new network on features (n, d), from PyTorch's default weights under this seed, in float32."""
    import torch

    inputs = torch.tensor(features, dtype=torch.float32)
    with reproducible(seed):
        perceptron = _perceptron(inputs.shape[1], network)
        optimizer = torch.optim.AdamW(perceptron.parameters(), lr=settings.learning_rate, weight_decay=0.01)
        for _ in range(settings.epochs):
            for rows in torch.arange(len(inputs)).split(settings.batch_size):
                optimizer.zero_grad()
                network.loss(perceptron(inputs[rows]), network.targets[rows]).backward()
                optimizer.step()
    return perceptron.eval()


def _outputs_of(perceptron: "nn.Sequential", features: np.ndarray) -> np.ndarray:
    """The outputs (n, k) for features (n, d), float64; nan where one is not finite."""
    import torch

    with torch.no_grad():
        found = perceptron(torch.tensor(features, dtype=torch.float32)).double().numpy()
    return np.where(np.isfinite(found), found, np.nan)


def arrays_of(perceptron: "nn.Sequential") -> dict[str, np.ndarray]:
    """Weights and biases under the names of `rauq.detectors.hidden_states.Perceptron`, in float32.

    Raises:
        InvalidInput: the training diverged.
    """
    from torch import nn

    linear = [layer for layer in perceptron if isinstance(layer, nn.Linear)]
    found = {
        f"{part}_{number}": getattr(layer, part).detach().numpy().copy()
        for number, layer in enumerate(linear, start=1)
        for part in ("weight", "bias")
    }
    if not all(np.isfinite(array).all() for array in found.values()):
        message = (
            "The training diverged: a weight is nan or infinite. Search a lower learning rate, with --full-search."
        )
        raise InvalidInput(message)
    return found


def best_settings(
    given: TrainingSet,
    candidates: Sequence[NetworkSettings],
    judged: Callable[[NetworkSettings, TrainingSet, TrainingSet], float],
) -> NetworkSettings:
    """The settings with the highest mean of `judged` over five folds, the first of equal ones.

    `judged` fits on the first set and judges the second; nan leaves a fold out.
    """
    fold = folds(len(given.quality))
    parts = [(given.take(fold != own), given.take(fold == own)) for own in np.unique(fold)]
    means = [_mean([judged(candidate, seen, held) for seen, held in parts]) for candidate in candidates]
    return candidates[int(np.argmax(means))]


def area(uncertainty: np.ndarray, seen: TrainingSet, held: TrainingSet) -> float:
    """ROC-AUC of predictions for the second set; nan where either set has one class, -inf where a prediction is nan."""
    if len(set(seen.correct.tolist())) < 2 or len(set(held.correct.tolist())) < 2:
        return np.nan
    return roc_auc(uncertainty, held.correct) if np.isfinite(uncertainty).all() else -np.inf


def _minus_squared_error(uncertainty: np.ndarray, held: TrainingSet) -> float:
    """Minus the mean squared distance of predictions from 1 - quality; -inf where a prediction is nan."""
    found = -float(np.mean((uncertainty - (1 - held.quality)) ** 2))
    return found if np.isfinite(found) else -np.inf


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else -np.inf


def _perceptron(inputs: int, network: Network) -> "nn.Sequential":
    from torch import nn

    widths = (inputs, *_WIDTHS, network.outputs)
    layers: list[nn.Module] = [nn.Dropout(network.dropout)]
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        layers.append(nn.Linear(before, after))
        if number <= len(_WIDTHS):
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


_SAPLMA_FULL = grid(epochs=(5, 10), batch_sizes=(64, 128), rates=(1e-3, 1e-4, 5e-5, 1e-5, 5e-6))
_SAPLMA_REDUCED = grid(epochs=(10,), batch_sizes=(64,), rates=(1e-3, 1e-4, 1e-5))


def search_saplma(
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
        found = _outputs_of(_trained_saplma(seen, settings, binary=binary, seed=seed), held.features)[:, 0]
        return area(found, seen, held) if binary else _minus_squared_error(found, held)

    return best_settings(given, _SAPLMA_FULL if full else _SAPLMA_REDUCED, judged)


def fit_saplma(
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
    arrays = arrays_of(_trained_saplma(given, settings, binary=binary, seed=seed))
    return Saplma(output="sigmoid" if binary else "identity", **arrays)


def _is_binary(given: TrainingSet) -> bool:
    return bool(np.isin(given.quality, (0.0, 1.0)).all())


def _trained_saplma(given: TrainingSet, settings: NetworkSettings, *, binary: bool, seed: int) -> "nn.Sequential":
    import torch
    from torch.nn import functional

    targets = torch.tensor(1 - given.quality, dtype=torch.float32)[:, None]  # (n, 1), as the outputs
    loss = functional.binary_cross_entropy_with_logits if binary else functional.mse_loss
    return trained(given.features, Network(outputs=1, targets=targets, loss=loss), settings, seed=seed)


_DROPOUT = 0.2
_MIND_FULL = grid(epochs=(10, 20), batch_sizes=(32, 64), rates=(1e-3, 1e-4, 5e-4, 5e-5, 1e-5, 5e-6))
_MIND_REDUCED = grid(epochs=(20,), batch_sizes=(32,), rates=(1e-3, 1e-4, 1e-5))


def search_mind(
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
        correct, incorrect = _outputs_of(_trained_mind(seen, settings, seed=seed), held.features).T
        return area(incorrect - correct, seen, held)

    return best_settings(given, _MIND_FULL if full else _MIND_REDUCED, judged)


def fit_mind(
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
    return Mind(**arrays_of(_trained_mind(given, settings, seed=seed)))


def _trained_mind(given: TrainingSet, settings: NetworkSettings, *, seed: int) -> "nn.Sequential":
    import torch
    from torch.nn import CrossEntropyLoss

    incorrect = torch.tensor(~given.correct, dtype=torch.int64)
    weights = 1 - torch.bincount(incorrect, minlength=2) / len(incorrect)
    network = Network(outputs=2, targets=incorrect, loss=CrossEntropyLoss(weight=weights), dropout=_DROPOUT)
    return trained(given.features, network, settings, seed=seed)
