"""The arrays that a trace can hold besides the band of attention, captured only where they are named.

M prompt tokens, N answer tokens, L layers that have attention, H heads. Row j is the query that predicts answer token
j, and the middle layer is floor(l / 2) of all l layers.

- `max_attention` (N, N): the largest weight, of all layers and heads, that row j puts on answer token k; 0 for k >= j.
- `diagonal` (H, M + N): the weight of each token of prompt and answer on itself, in the middle layer; nan where the
  model computes no query of a prompt token.
- `hidden` (d,): the hidden state before the middle layer, where the last answer token was predicted; for an answer of
  one token its mean over the prompt, nan where the model skips tokens of the prompt, or thinking comes before it.
- `lookback` (L, H, N, 2): the mean weight that row j puts on a key of the prompt, and on one of the answer so far;
  masked keys weigh 0, and row 0 has nan for the latter.
- `focus` (N, 2): probabilities below 0.01 dropped, the others weighed by inverse document frequency and normalised,
  that of the chosen token, and the entropy in bits; nan where all weigh 0, or one of them less than 0.
- `attention_entropy` (L, H, N, 2): Shannon entropy -sum a log a and Renyi-2 entropy -log sum a^2 of the whole row of
  attention in nats, both 0 to log(M + j). The weights a of a row sum to 1: a sink takes weight but is no key, so its
  part is left out and the others are divided by what remains.
- `mean_logprob` (N,): the mean over the vocabulary of the log-probabilities in nats; tokens of probability 0, which
  the model rules out, are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from rauq.errors import InvalidInput, UnsupportedModel
from rauq.trace.trace import Extra

EXTRAS: tuple[Extra, ...] = get_args(Extra)
_UNAVAILABLE: Mapping[Extra, str] = MappingProxyType(
    {
        "diagonal": "there is no softmax attention in the middle layer",
        "hidden": "its blocks are not in a list, so its middle layer is unknown",
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Wanted:
    """Which extras to capture; `idf` (V,) weighs the tokens for `focus` alone."""

    names: frozenset[Extra] = frozenset()
    idf: np.ndarray | None = None


def wanted(
    extras: Sequence[str],
    idf: ArrayLike | None,
    *,
    available: Sequence[Extra],
    name: str,
    num_layers: int,
    vocab_size: int,
) -> Wanted:
    """The request, once it is known that the model of this name can meet it; `available` is what it can capture.

    Raises:
        InvalidInput: unknown extras, or `focus` without weights that fit the vocabulary.
        UnsupportedModel: this model has no such extra.
    """
    unknown = [extras] if isinstance(extras, str) else [extra for extra in extras if extra not in EXTRAS]
    if unknown:
        message = f"Got extras {', '.join(map(repr, unknown))}; give a sequence of some of {', '.join(EXTRAS)}."
        raise InvalidInput(message)
    names = frozenset(extra for extra in EXTRAS if extra in extras)
    for extra in sorted(names - set(available)):
        message = (
            f"The extra {extra!r} cannot be captured: {_UNAVAILABLE[extra]} of {name} (layer {num_layers // 2} of "
            f"{num_layers}, from 0). Leave it out, or choose another model."
        )
        raise UnsupportedModel(message)
    return Wanted(names=names, idf=_weights(idf, vocab_size) if "focus" in names else None)


def _weights(idf: ArrayLike | None, vocab_size: int) -> np.ndarray:
    """One weight a token of the vocabulary; tokens beyond the given ones weigh 1."""
    if idf is None:
        message = (
            "The extra 'focus' weighs tokens by inverse document frequency: pass idf, an array of one number per "
            "token, such as rauq.methods.pair_scorers.idf computes from a corpus."
        )
        raise InvalidInput(message)
    given = np.asarray(idf)
    if given.ndim != 1 or not 0 < len(given) <= vocab_size or given.dtype.kind not in "fiu":
        message = f"Got idf of shape {given.shape} and dtype {given.dtype}; it must be (V,) numbers, V <= {vocab_size}."
        raise InvalidInput(message)
    if not np.isfinite(given).all():
        message = f"Got idf with {np.count_nonzero(~np.isfinite(given))} values that are not finite; it must have none."
        raise InvalidInput(message)
    weights = np.ones(vocab_size, dtype=np.float32)
    weights[: len(given)] = given
    return weights
