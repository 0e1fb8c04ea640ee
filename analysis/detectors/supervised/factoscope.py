"""Training Factoscope (`rauq.detectors.factoscope`) on rows of labelled answers, with a triplet loss.

As in the port by the first author of the paper: the networks, untrained at first; a row has the label of its answer;
margin 1, Euclidean distance; Adam at .001, batches of 64 shuffled rows; positive and negative rows drawn from the
training rows; the seed set again before each stage; the epoch of the best accuracy of the nearest support row on the
development rows, of the last stage alone; the score is a ratio of distances. Unlike the port: training, development and
support rows are of different answers; the rank enters as its reciprocal, since 1 / (2 - rank) is infinite at 2; without
a correct or an incorrect support row there is no detector. Ours: the chosen rows and the split are spread over answers
and classes evenly; the columns of the joint layer that belong to networks which join later are 0 until then; the
standardisation is that of the averaged columns; the weights are kept in half precision, 67 MB in place of 135.

Reduced by default: 1,000 rows, hidden states averaged to 128 columns, the last stage alone, 10 epochs. `FULL` takes
5,000 rows, all columns, four stages of 30 epochs: some 17 hours at 30 layers of 576 columns, on two cores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analysis.detectors.supervised.training_set import SEED, check_training_set, reproducible, require_both
from rauq.detectors.factoscope import OTHERS, Factoscope, nearest, rows_of
from rauq.errors import InvalidInput

if TYPE_CHECKING:
    from rauq.detectors.factoscope_network import Network

_SHARE = 0.2  # of the answers for development, and of the rest for support
_BATCH, _RATE, _MARGIN = 64, 1e-3, 1.0


@dataclass(frozen=True, kw_only=True)
class FactoscopeSettings:
    """How much is trained: at most `rows`, hidden states averaged to `columns`, the last `stages`, their `epochs`."""

    rows: int
    columns: int
    stages: int
    epochs: int


REDUCED = FactoscopeSettings(rows=1_000, columns=128, stages=1, epochs=10)
FULL = FactoscopeSettings(rows=5_000, columns=2**20, stages=4, epochs=30)


class _Rows(NamedTuple):
    """Rows (n, K, c + 21), and which are of correct answers (n,)."""

    values: np.ndarray
    correct: np.ndarray


def search(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    seed: int = SEED,  # noqa: ARG001 - one interface for all methods; nothing is drawn here
    full: bool = False,
) -> FactoscopeSettings:
    """The reduced settings, or the port's: nothing is searched.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    check_training_set(features, quality, threshold=threshold, token_axis=1, method="Factoscope")
    return FULL if full else REDUCED


def fit(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: FactoscopeSettings,
    seed: int = SEED,
) -> Factoscope:
    """Train the network on some rows, and keep embeddings of others as support.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    from rauq.detectors.factoscope_network import embedded, unpacked

    correct = check_training_set(features, quality, threshold=threshold, token_axis=1, method="Factoscope")
    answer, token = _chosen_rows([one.shape[1] for one in features], settings.rows, seed)
    num_layers, _, width = features[0].shape
    columns = min(settings.columns, width - OTHERS)
    values = np.stack(
        [rows_of(features[own][:, [place]], columns)[0] for own, place in zip(answer, token, strict=True)]
    )
    train, develop, support = (_Rows(values[own], correct[answer[own]]) for own in _parts(answer, correct, seed))
    mean, std = _scale(train.values[..., :columns])
    for rows in (train, develop, support):
        rows.values[..., :columns] = (rows.values[..., :columns] - mean) / std
    weights = in_half_precision(_trained(train, develop, support, settings, seed))
    found = embedded(unpacked(weights), support.values)
    return Factoscope(
        num_layers=num_layers,
        width=width - OTHERS,
        columns=columns,
        mean=mean,
        std=std,
        weights=weights,
        correct=found[support.correct],
        incorrect=found[~support.correct],
    )


def in_half_precision(weights: np.ndarray) -> np.ndarray:
    """Weights (P,) as float16, which halves the detector's file; as they are, where one of them would be infinite.

    The support is embedded with what is kept, so that rounding is the same for it and for the answers that are scored.
    """
    with np.errstate(over="ignore"):
        half = weights.astype(np.float16)
    return half if np.isfinite(half).all() else weights


def _scale(states: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of all numbers."""
    mean, std = float(states.mean(dtype=np.float64)), float(states.std(dtype=np.float64))
    if not std > 0:
        message = "Factoscope cannot be fitted: all hidden states are equal. Use answers of another model."
        raise InvalidInput(message)
    return mean, std


def _chosen_rows(lengths: Sequence[int], most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Answer and token of at most `most` rows drawn at random, as many of each answer as can be."""
    rng = np.random.default_rng(seed)
    turns = np.concatenate([rng.permutation(length) for length in lengths])
    chosen = np.sort(np.lexsort((rng.random(len(turns)), turns))[:most])
    answer = np.repeat(np.arange(len(lengths)), lengths)
    token = np.concatenate([np.arange(length) for length in lengths])
    return answer[chosen], token[chosen]


def _parts(answer: np.ndarray, correct: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Which rows (n,), of the given answers, are for training, development and support."""
    from sklearn.model_selection import train_test_split

    given = np.unique(answer)
    require_both(correct[given], "Factoscope", "the answers of the chosen rows")
    rest, develop = train_test_split(given, test_size=_SHARE, random_state=seed, stratify=correct[given])
    train, support = train_test_split(rest, test_size=_SHARE, random_state=seed, stratify=correct[rest])
    if len(np.unique(correct[support])) < 2:
        message = "Factoscope cannot be fitted: its support rows are of one class. Give more answers of the other."
        raise InvalidInput(message)
    return (np.isin(answer, part) for part in (train, develop, support))


def _trained(train: _Rows, develop: _Rows, support: _Rows, settings: FactoscopeSettings, seed: int) -> np.ndarray:
    """The packed weights of the best epoch of the last stage."""
    from rauq.detectors.factoscope_network import STAGES, Network, packed

    best, weights = -1.0, np.empty(0)
    with reproducible(seed):
        network = Network()
        for stage in range(STAGES - settings.stages + 1, STAGES + 1):
            for _ in _epochs(network, train, stage, settings.epochs, seed):
                if stage == STAGES and (accuracy := _accuracy(network, develop, support)) > best:
                    best, weights = accuracy, packed(network)
    return weights


def _epochs(network: "Network", train: _Rows, stage: int, epochs: int, seed: int) -> Iterator[None]:
    """Train for one epoch after another."""
    import torch

    torch.manual_seed(seed)  # of dropout
    rng = np.random.default_rng(seed)
    values = torch.from_numpy(train.values)
    optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
    for _ in range(epochs):
        network.train()
        order = rng.permutation(len(values))
        for at in range(0, len(order) - 1, _BATCH):  # a single row has no batch statistics
            anchors = order[at : at + _BATCH]
            anchor, positive, negative = (
                network(values[own], stage) for own in (anchors, *_others(anchors, train.correct, rng))
            )
            loss = torch.nn.functional.triplet_margin_loss(anchor, positive, negative, margin=_MARGIN)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        yield


def _others(anchors: np.ndarray, correct: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A row of the same class for each anchor, and one of the other."""
    right, wrong = (rng.choice(np.flatnonzero(own), (2, len(anchors))) for own in (correct, ~correct))
    own = correct[anchors]
    return np.where(own, right[0], wrong[0]), np.where(own, wrong[1], right[1])


def _accuracy(network: "Network", develop: _Rows, support: _Rows) -> float:
    """The share of development rows whose nearest support row is of their class."""
    from rauq.detectors.factoscope_network import embedded

    given, known = (embedded(network, rows.values) for rows in (develop, support))
    is_correct = nearest(given, known[support.correct]) < nearest(given, known[~support.correct])
    return float((is_correct == develop.correct).mean())
