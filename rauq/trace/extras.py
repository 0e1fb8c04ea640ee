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
- `part_shares` (L, H, N, 3 + P): the sums of the weights that row j puts on the first token of the prompt, on the
  answer so far, on other tokens of the prompt, and on each of its P parts (`Trace.prompt_parts`), the first token left
  out. They sum to 1, less what a learned sink takes, which is no key.
- `hidden_layers` (l + 1, N, d): the hidden states h_k of each row, k = 0 the embeddings, k after k blocks, and k = l
  after the final norm.
- `hidden_mean` (d,): the mean of h_k, k = floor(l / 2), over all positions that are fed: the prompt and the answer but
  its last token; nan where the model skips tokens of the prompt.
- `logit_lens` (l, N, 21): for each k but l - 1 in order, with the scores that the output layer gives to h_k, no norm
  before it and nothing after it: the rank of answer token j, 1 being the top; for the ids of the ten largest scores,
  ascending, the cosine of the input embeddings of the i-th such id for this k and for the k before it (0 for the
  first); and the softmax probabilities of the ten ids.
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

from rauq.errors import InvalidInput, NotCaptured, UnsupportedModel
from rauq.trace.file import MOST_BANDS
from rauq.trace.trace import NUM_BANDS, Extra, Trace

EXTRAS: tuple[Extra, ...] = get_args(Extra)
BY_LAYER: frozenset[str] = frozenset({"lookback", "attention_entropy", "part_shares"})
"""The extras whose first axis is that of the trace's layers."""
OF_EVERY_ENGINE: tuple[Extra, ...] = ("focus", "mean_logprob", "part_shares")
"""The extras that llama.cpp gives as well: those of logits, and sums of a row of attention."""

_UNAVAILABLE: Mapping[Extra, str] = MappingProxyType(
    {
        "diagonal": "there is no softmax attention in its middle layer ({middle})",
        "hidden": "its blocks are not in a list, so its middle layer ({middle}) is not found",
        "hidden_mean": "its blocks are not in a list, so its middle layer ({middle}) is not found",
        "hidden_layers": "its blocks are not in a list, or its last hidden state is not told apart from its logits",
        "logit_lens": "its hidden states cannot all be read, or its output layer does not take them as they are",
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Wanted:
    """What to capture: extras, and the weights of so many `offsets`; `idf` (V,) weighs the tokens for `focus` alone."""

    names: frozenset[Extra] = frozenset()
    idf: np.ndarray | None = None
    offsets: int = NUM_BANDS


def wanted(
    extras: Sequence[str],
    idf: ArrayLike | None,
    *,
    offsets: int,
    available: Sequence[Extra],
    name: str,
    num_layers: int,
    vocab_size: int,
    lacking: str = "",
) -> Wanted:
    """The request, once it is known that the model of this name can meet it; `available` is what it can capture.

    Raises:
        InvalidInput: unknown extras, `focus` without weights that fit the vocabulary, or a number of offsets that no
            trace has.
        UnsupportedModel: this model has no such extra.
    """
    names = available_names(extras, available=available, name=name, num_layers=num_layers, lacking=lacking)
    return Wanted(
        names=names, idf=_weights(idf, vocab_size) if "focus" in names else None, offsets=_checked_offsets(offsets)
    )


def available_names(
    extras: Sequence[str], *, available: Sequence[Extra], name: str, num_layers: int, lacking: str = ""
) -> frozenset[Extra]:
    """The extras of these names, once it is known that the model can capture them; arguments as in `wanted`.

    `lacking` says why other extras are not available, where that is not for the model's own sake.

    Raises:
        InvalidInput: unknown extras.
        UnsupportedModel: this model has no such extra.
    """
    unknown = [extras] if isinstance(extras, str) else [extra for extra in extras if extra not in EXTRAS]
    if unknown:
        message = f"Got extras {', '.join(map(repr, unknown))}; give a sequence of some of {', '.join(EXTRAS)}."
        raise InvalidInput(message)
    names = frozenset(extra for extra in EXTRAS if extra in extras)
    for extra in sorted(names - set(available)):
        reason = lacking or _UNAVAILABLE[extra].format(middle=f"layer {num_layers // 2} of {num_layers}, from 0")
        message = (
            f"The extra {extra!r} cannot be captured from {name}: {reason}. Leave it out, or choose another model."
        )
        raise UnsupportedModel(message)
    return names


def _checked_offsets(offsets: object) -> int:
    if isinstance(offsets, int) and 1 <= offsets <= MOST_BANDS:
        return offsets
    message = f"Got offsets={offsets!r}; it must be a whole number from 1 to {MOST_BANDS}: how many keys back."
    raise InvalidInput(message)


def extra_of(trace: Trace, name: Extra, shape: tuple[int, ...]) -> np.ndarray:
    """An extra of a trace, of this shape; -1 is any size.

    Raises:
        NotCaptured: the trace has none of this name.
        InvalidInput: it has another shape.
    """
    if name not in trace.extras:
        message = f"The trace lacks the extra {name!r}. Generate the answer again with extras=({name!r},)."
        raise NotCaptured(message)
    array = trace.extras[name]
    if array.ndim != len(shape) or any(size not in (-1, got) for size, got in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if size < 0 else str(size) for size in shape)
        message = f"The extra {name!r} has shape {array.shape}, and this answer's is ({wanted}). Generate it again."
        raise InvalidInput(message)
    return array


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
