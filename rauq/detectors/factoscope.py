"""Factoscope: how close the hidden states, ranks and top tokens of all layers are to those of labelled answers."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rauq.detectors.checks import is_number, is_whole, require, require_array, require_features
from rauq.errors import InvalidInput
from rauq.trace.extras import extra_of
from rauq.trace.file import MOST_LAYERS
from rauq.trace.trace import Extra, Trace

if TYPE_CHECKING:
    from rauq.detectors.factoscope_network import Network

EXTRAS: tuple[Extra, ...] = ("hidden_layers", "logit_lens")
OTHERS = 21  # columns after the hidden state
NUM_WEIGHTS = 33_673_088  # of the network, whatever the model
MOST_COLUMNS = 2**20
_EMBEDDING = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Factoscope:
    """A fitted Factoscope (He et al., 2024, LLM Factoscope), as the port of the first author of the paper has it.

    `weights`, float16 or float32, are those of the network (`rauq.detectors.factoscope_network.packed`). Hidden states
    of `num_layers` - 1 layers and the output, `width` numbers each, are averaged to `columns`, minus `mean`, over
    `std`. `correct` and `incorrect` (n, 64) are embeddings of rows of training answers, the support set.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    num_layers: int
    width: int
    columns: int
    mean: float
    std: float
    weights: np.ndarray
    correct: np.ndarray
    incorrect: np.ndarray

    def __post_init__(self) -> None:
        for name, most in (("num_layers", MOST_LAYERS), ("width", MOST_COLUMNS), ("columns", self.width)):
            own = getattr(self, name)
            require(fits=is_whole(own, 1, most), name=name, got=own, allowed=f"a whole number from 1 to {most:,}")
        require(fits=is_number(self.mean), name="mean", got=self.mean, allowed="a finite number")
        fits = is_number(self.std) and self.std > 0
        require(fits=fits, name="std", got=self.std, allowed="a finite number above 0")
        require_array(self.weights, (NUM_WEIGHTS,), name="weights")
        for name in ("correct", "incorrect"):
            require_array(getattr(self, name), (None, _EMBEDDING), name=name)

    def value(self, features: np.ndarray) -> float:
        """The mean over rows of the distance to the nearest correct row over that to the nearest incorrect one.

        Raises:
            InvalidInput: features of another shape, not all finite, or a row that is at no distance from an incorrect
                one.
        """
        require_features(features, (self.num_layers, None, self.width + OTHERS), method="Factoscope")
        return support_score(self.embeddings(features), self.correct, self.incorrect)

    def embeddings(self, features: np.ndarray) -> np.ndarray:
        """The embeddings (N, 64) of an answer's rows."""
        from rauq.detectors.factoscope_network import embedded

        rows = rows_of(features, self.columns)
        rows[..., : self.columns] = (rows[..., : self.columns] - self.mean) / self.std
        return embedded(self._network, rows)

    @cached_property
    def _network(self) -> "Network":
        from rauq.detectors.factoscope_network import unpacked

        return unpacked(self.weights)


def features(trace: Trace) -> np.ndarray:
    """Hidden state and top tokens of each layer at each token: (l, N, d + 21), layers 0 to l - 2, then the output.

    d columns of the hidden state; the reciprocal rank of the token (the reference divides by 2 minus the rank); ten
    cosines and ten probabilities of the layer's top tokens, as `logit_lens` has them. The dtype is that of the states.

    Raises:
        NotCaptured: the trace lacks one of the extras.
        InvalidInput: an extra is not of this answer.
    """
    num_layers, num_tokens = trace.num_layers, len(trace.answer_ids)
    states = extra_of(trace, "hidden_layers", (num_layers + 1, num_tokens, -1))
    lens = extra_of(trace, "logit_lens", (num_layers, num_tokens, OTHERS))
    found = np.empty((num_layers, num_tokens, states.shape[2] + OTHERS), dtype=states.dtype)
    found[..., :-OTHERS] = np.delete(states, num_layers - 1, axis=0)
    found[..., -OTHERS] = 1 / lens[..., 0]
    found[..., 1 - OTHERS :] = lens[..., 1:]
    return found


def rows_of(features: np.ndarray, columns: int) -> np.ndarray:
    """The rows of an answer's features (K, N, d + 21), the hidden state averaged: (N, K, columns + 21), float32.

    Averages are over neighbouring columns, of which each is in one.
    """
    states, others = features[..., :-OTHERS].astype(np.float32), features[..., -OTHERS:].astype(np.float32)
    starts = np.arange(columns) * states.shape[-1] // columns
    averaged = np.add.reduceat(states, starts, axis=-1) / np.diff(starts, append=states.shape[-1])
    return np.moveaxis(np.concatenate([averaged, others], axis=-1), 0, 1).astype(np.float32)


def support_score(rows: np.ndarray, correct: np.ndarray, incorrect: np.ndarray) -> float:
    """Mean over embedded rows (N, 64) of the distance to the nearest correct row over that to the nearest incorrect.

    Raises:
        InvalidInput: a row equals an incorrect one, so that the quotient is undefined.
    """
    near, far = (nearest(rows, support) for support in (correct, incorrect))
    if not far.all():
        message = (
            "Factoscope is undefined for this answer: a token is at distance 0 from one of an incorrect answer, as "
            "tokens of the support set are. Score answers that it was not trained on."
        )
        raise InvalidInput(message)
    return float((near / far).mean())


def nearest(rows: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The Euclidean distance (N,) of rows (N, e) to the nearest of the support (n, e)."""
    return np.array([np.linalg.norm(support - row, axis=1).min() for row in rows])
