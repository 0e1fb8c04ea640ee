"""Training the small networks of SAPLMA and MIND, and the search of their settings: seeded, and on one thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analysis.detectors.supervised.training_set import TrainingSet, folds, reproducible
from analysis.stats import roc_auc
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


def outputs_of(perceptron: "nn.Sequential", features: np.ndarray) -> np.ndarray:
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
    means = [_mean([judged(one, seen, held) for seen, held in parts]) for one in candidates]
    return candidates[int(np.argmax(means))]


def area(uncertainty: np.ndarray, seen: TrainingSet, held: TrainingSet) -> float:
    """ROC-AUC of predictions for the second set; nan where either set has one class, -inf where a prediction is nan."""
    if len(set(seen.correct.tolist())) < 2 or len(set(held.correct.tolist())) < 2:
        return np.nan
    return roc_auc(uncertainty, held.correct) if np.isfinite(uncertainty).all() else -np.inf


def minus_squared_error(uncertainty: np.ndarray, held: TrainingSet) -> float:
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
