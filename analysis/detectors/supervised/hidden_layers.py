"""Fitting Sheeps and SATRMD + MSP (`rauq.detectors.hidden_states`), one layer's hidden states in memory at a time.

Both split the training answers at random: parameters of layers come from the first half, what joins the layers from
the second, and neither is fitted again on all (kept from the reference). An answer at the threshold is incorrect here,
as everywhere in this package, and correct in the reference.

Sheeps. As in the reference: the state after the last block is unused; unweighted cross-entropy, AdamW with weight decay
.01, batches in the order of the answers, no scaling; logistic regression on the layers' probabilities, chosen by
accuracy over five stratified folds. Unlike the reference: every probe starts anew from the seed, while the reference
continues to train the probe of the fold before, on answers that it validates on; a fold of one class is left out;
features that are not finite are refused, not read as 0. Ours: the settings are searched at the middle layer alone and
used at every layer, unless `full` searches at each; the bias of the pooling scores is left out of the detector, since
the softmax cancels it.

SATRMD. As in the reference: features unscaled; rows of all answers where at most ten are of correct ones; layers
without a usable covariance dropped. Unlike the reference: the covariance is Ledoit and Wolf's, since the sample
covariance of fewer rows than columns is singular, and its inverse is rounding noise. Ours: the background are the rows
of all training answers in place of 100,000 generated tokens; at most as many components as layers or answers.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analysis.detectors.supervised.training_set import (
    SEED,
    check_training_set,
    folds,
    halves,
    reproducible,
    require_both,
)
from analysis.stats import roc_auc
from rauq.detectors.hidden_states import Satrmd, Sheeps, answer_numbers, layer_probabilities, relative_distances
from rauq.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

EPOCHS, BATCHES, RATES = (5, 10, 20), (32, 64), (0.1, 0.01, 0.001)
_COMPONENTS = 10
_FEW_ROWS = 10


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """How a probe is trained."""

    epochs: int
    batch: int
    rate: float


@dataclass(frozen=True)
class SheepsSettings:
    """How the probes are trained: one for all layers, or one for each."""

    probes: tuple[ProbeSettings, ...]

    def of_layer(self, layer: int) -> ProbeSettings:
        """The settings of a layer, counted from 0."""
        return self.probes[layer if len(self.probes) > 1 else 0]


class _Probe(NamedTuple):
    """A layer's parameters in `Sheeps`: (d,), (d,) and a number."""

    attention: np.ndarray
    weights: np.ndarray
    bias: float

    def probability(self, rows: np.ndarray) -> float:
        """That an answer with these rows (N, d) is incorrect."""
        one_layer = (np.asarray(part)[None] for part in self)
        return float(layer_probabilities(rows[None], *one_layer)[0])


def search_sheeps(
    features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int = SEED, full: bool = False
) -> SheepsSettings:
    """Choose how probes are trained, by mean ROC-AUC over five folds of the first half, at one layer or at each.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    incorrect, first, _ = _halved(features, quality, threshold, seed, "Sheeps")
    num_layers = len(features[0])
    layers = range(num_layers) if full else (num_layers // 2,)
    return SheepsSettings(tuple(_searched(_rows(features, first, layer), incorrect[first], seed) for layer in layers))


def fit_sheeps(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: SheepsSettings,
    seed: int = SEED,
) -> Sheeps:
    """Train a probe at each layer on the first half, and join their probabilities on the second.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    incorrect, first, second = _halved(features, quality, threshold, seed, "Sheeps")
    probes = []
    for layer in range(len(features[0])):
        rows, chosen = _rows(features, first, layer), settings.of_layer(layer)
        *_, last = _trained(
            rows, incorrect[first], batch=chosen.batch, rate=chosen.rate, epochs=chosen.epochs, seed=seed
        )
        probes.append(last)
    attention, weights, biases = (np.array(values) for values in zip(*probes, strict=True))
    layers = np.array([layer_probabilities(features[row][..., :-2], attention, weights, biases) for row in second])
    joint, intercept = _joined(layers, incorrect[second])
    return Sheeps(attention=attention, probes=weights, biases=biases, weights=joint, intercept=intercept)


def _halved(
    features: Sequence[np.ndarray], quality: np.ndarray, threshold: float, seed: int, method: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which answers are incorrect (A,), and the rows of both halves."""
    correct = check_training_set(features, quality, threshold=threshold, token_axis=1, method=method)
    first, second = halves(len(features), seed=seed)
    for name, half in (("first", first), ("second", second)):
        require_both(correct[half], method, f"the answers of the {name} half")
    return ~correct, first, second


def _rows(features: Sequence[np.ndarray], answers: np.ndarray, layer: int) -> "list[Tensor]":
    """The hidden states (N, d) of each of these answers at one layer, float32."""
    import torch

    return [torch.from_numpy(features[answer][layer, :, :-2].astype(np.float32)) for answer in answers]


def _searched(rows: "Sequence[Tensor]", incorrect: np.ndarray, seed: int) -> ProbeSettings:
    """The first of the best settings, epochs outermost."""
    fold = folds(len(rows))
    parts = [fold == number for number in range(fold.max() + 1)]
    of_both = [part for part in parts if len({*incorrect[part]}) == len({*incorrect[~part]}) == 2]
    total = np.zeros((len(EPOCHS), len(BATCHES), len(RATES)))
    for (b, batch), (r, rate) in product(enumerate(BATCHES), enumerate(RATES)):
        for part in of_both:
            total[:, b, r] += _areas(rows, incorrect, part, batch=batch, rate=rate, seed=seed)
    best = np.unravel_index(total.argmax(), total.shape)
    return ProbeSettings(epochs=EPOCHS[best[0]], batch=BATCHES[best[1]], rate=RATES[best[2]])


def _areas(
    rows: "Sequence[Tensor]", incorrect: np.ndarray, part: np.ndarray, *, batch: int, rate: float, seed: int
) -> list[float]:
    """ROC-AUC on a part of the answers after each of EPOCHS on the others; -inf where a probability is nan.

    A shorter training is the beginning of a longer one.
    """
    seen, held_out = np.flatnonzero(~part).tolist(), np.flatnonzero(part).tolist()
    training = _trained(
        [rows[row] for row in seen], incorrect[seen], batch=batch, rate=rate, epochs=max(EPOCHS), seed=seed
    )
    areas = []
    for epoch, probe in enumerate(training, start=1):
        if epoch in EPOCHS:
            found = np.array([probe.probability(rows[row].numpy()) for row in held_out])
            areas.append(roc_auc(found, ~incorrect[held_out]) if np.isfinite(found).all() else -np.inf)
    return areas


def _trained(
    rows: "Sequence[Tensor]", incorrect: np.ndarray, *, batch: int, rate: float, epochs: int, seed: int
) -> Iterator[_Probe]:
    """The probe after each epoch."""
    import torch
    from torch import nn

    labels = torch.from_numpy(incorrect.astype(np.int64))
    padded = nn.utils.rnn.pad_sequence(list(rows), batch_first=True)  # (A, longest, d)
    padding = torch.arange(padded.shape[1]) >= torch.tensor([len(row) for row in rows])[:, None]
    with reproducible(seed):
        pooling, classes = nn.Linear(padded.shape[2], 1), nn.Linear(padded.shape[2], 2)
        optimiser = torch.optim.AdamW([*pooling.parameters(), *classes.parameters()], lr=rate, weight_decay=0.01)
        for _ in range(epochs):
            for block, outside, wanted in zip(*(each.split(batch) for each in (padded, padding, labels)), strict=True):
                shares = pooling(block)[..., 0].masked_fill(outside, -torch.inf).softmax(dim=1)
                pooled = (shares[:, None] @ block)[:, 0]
                loss = nn.functional.cross_entropy(classes(pooled), wanted)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            yield _probe(pooling.weight, classes.weight, classes.bias)


def _probe(pooling: "Tensor", classes: "Tensor", biases: "Tensor") -> _Probe:
    """Of a softmax over two classes the log-odds of the second are a difference."""
    attention, (correct, incorrect), (low, high) = (
        one.detach().double().numpy() for one in (pooling[0], classes, biases)
    )
    return _Probe(attention, incorrect - correct, float(high - low))


def _joined(layers: np.ndarray, incorrect: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights (L,) and intercept of a logistic regression on the layers' probabilities (A, L)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(
        Cs=10, l1_ratios=(0.0,), cv=5, scoring="accuracy", solver="lbfgs", max_iter=100, use_legacy_attributes=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the reference stops after 100 iterations too
        model.fit(layers, incorrect)
    return model.coef_[0].astype(np.float64), float(model.intercept_[0])


class _Distances(NamedTuple):
    """Of one layer, `means` (2, d) and `whitening` (2, d, d) as in `Satrmd`, float32."""

    means: np.ndarray
    whitening: np.ndarray


def search_satrmd(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    seed: int = SEED,
    full: bool = False,  # noqa: ARG001 - one interface for all methods
) -> None:
    """Nothing is searched: it has no settings.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    _halved(features, quality, threshold, seed, "SATRMD + MSP")


def fit_satrmd(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: None = None,  # noqa: ARG001 - one interface for all methods
    seed: int = SEED,
) -> Satrmd:
    """Means and covariances of each layer from the first half, and the regression on distances from the second.

    Raises:
        InvalidInput: the answers cannot be fitted, or no layer has a usable covariance; the message says why.
    """
    incorrect, first, second = _halved(features, quality, threshold, seed, "SATRMD + MSP")
    correct = [row for row in first if not incorrect[row]]
    if sum(features[row].shape[1] for row in correct) <= _FEW_ROWS:
        correct = list(first)
    parts, distances = {}, []
    for layer in range(len(features[0])):
        found = _layer_distances(_states(features, correct, layer), _states(features, range(len(features)), layer))
        if found:
            parts[layer] = found
            distances.append(_mean_distances(features, second, layer, found))
    if not parts:
        message = "SATRMD + MSP cannot be fitted: the hidden states of every layer are constant. Use another model."
        raise InvalidInput(message)
    numbers = np.array([answer_numbers(features[row]) for row in second])
    weights, intercept = _regression(np.array(distances).T, numbers, 1 - quality[second])
    return Satrmd(
        num_layers=len(features[0]),
        layers=np.array(list(parts)),
        means=np.stack([found.means for found in parts.values()], axis=1),
        whitening=np.stack([found.whitening for found in parts.values()], axis=1),
        weights=weights[:-2],
        msp_weight=float(weights[-2]),
        entropy_weight=float(weights[-1]),
        intercept=intercept,
    )


def _states(features: Sequence[np.ndarray], answers: Sequence[int] | np.ndarray, layer: int) -> np.ndarray:
    """The rows of these answers at one layer (n, d), float64."""
    return np.concatenate([features[answer][layer, :, :-2].astype(np.float64) for answer in answers])


def _layer_distances(correct: np.ndarray, background: np.ndarray) -> _Distances | None:
    """Whitening by the inverse of a Cholesky factor; None where a covariance has none."""
    from scipy.linalg import solve_triangular
    from sklearn.covariance import ledoit_wolf

    means = [rows.mean(axis=0) for rows in (correct, background)]
    try:
        factors = [np.linalg.cholesky(ledoit_wolf(rows)[0]) for rows in (correct, background)]
    except np.linalg.LinAlgError:
        return None
    whitening = [solve_triangular(factor, np.eye(len(factor)), lower=True).T for factor in factors]
    return _Distances(np.array(means, dtype=np.float32), np.array(whitening, dtype=np.float32))


def _mean_distances(
    features: Sequence[np.ndarray], answers: np.ndarray, layer: int, distances: _Distances
) -> np.ndarray:
    """The mean over rows of the relative distance of each answer (n,)."""
    lengths = np.array([features[answer].shape[1] for answer in answers])
    of_rows = relative_distances(_states(features, answers, layer), *distances)
    return np.add.reduceat(of_rows, np.cumsum(lengths) - lengths) / lengths


def _regression(distances: np.ndarray, numbers: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of distances (n, K) and of the two numbers (n, 2), and intercept: PCA of the former, then ridge."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge

    components = PCA(min(_COMPONENTS, *distances.shape), svd_solver="full").fit(distances)
    reduced = components.transform(distances)
    model = Ridge(alpha=1.0).fit(np.column_stack([reduced, numbers]), target)
    of_distances = model.coef_[:-2] @ components.components_
    intercept = model.intercept_ - of_distances @ components.mean_
    return np.append(of_distances, model.coef_[-2:]), float(intercept)
