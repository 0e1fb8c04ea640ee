"""Many answers of one model in padded arrays, to score a whole run at once."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rauq.errors import Failure, InvalidInput
from rauq.trace.parts import part_of
from rauq.trace.trace import Alignment, Kind, Part, Trace

_MOST_PADDED, _MOST_TOKENS = 1.25, 2**17
_ROUNDING = 1e-2  # half precision may overstep a bound by this much


@dataclass(frozen=True, eq=False, kw_only=True)
class _OfOneModel:
    """What all answers side by side have in common."""

    alignment: Alignment
    kind: Kind | None
    vocab_size: int | None
    layers: tuple[int, ...]
    num_layers: int | None
    part: Part = "answer"


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(_OfOneModel):
    """A answers of one model; `lengths` (A,) are their token counts; the padding is nan.

    `attention` (A, L, H, N - 1): weights on the previous token under `alignment`, column t belonging to token t + 1.
    `logprobs` and `entropies` (A, N) in nats. `layers` are the absolute indices of axis L, out of `num_layers`.
    The arrays hold the `part` of each answer. `empty` (A,) is True where an answer has no such part, which then has one
    token of nan; None: every answer has the part.
    `kind`, `vocab_size` and `num_layers` are None where bare arrays came without them.
    """

    attention: np.ndarray
    logprobs: np.ndarray
    entropies: np.ndarray
    lengths: np.ndarray
    empty: np.ndarray | None = None

    _head_means: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def __repr__(self) -> str:
        """One line: how many answers, of how many layers and heads, and how long the longest is."""
        count, num_layers, num_heads = self.attention.shape[:3]
        longest = int(self.lengths.max(initial=0))
        return f"Batch({count} answers of at most {longest} tokens, {num_layers} layers of {num_heads} heads)"

    def rows(self, layers: tuple[int, ...]) -> np.ndarray:
        """The positions of absolute layer indices on the layer axis of `attention`."""
        return np.array([self.layers.index(layer) for layer in layers])

    def take(self, rows: np.ndarray | slice) -> "Batch":
        """The answers at these places alone; a slice copies nothing."""
        chosen = {name: getattr(self, name)[rows] for name in ("attention", "logprobs", "entropies", "lengths")}
        return replace(self, **chosen, empty=None if self.empty is None else self.empty[rows])

    def blocks(self) -> "Iterator[tuple[np.ndarray, Batch]]":
        """This batch, and the places of its answers: as `Blocks.blocks`."""
        yield np.arange(len(self.lengths)), self

    def head_means(self, layers: tuple[int, ...]) -> np.ndarray:
        """Mean weight of each head of these layers on the previous token: (A, Lw, H), nan for one token.

        The means of the layers asked for last are kept, so that scoring again reads only the selected heads.
        """
        means = self._head_means.get(layers)
        if means is None:
            means = self._means_of(self.rows(layers))
            self._head_means.clear()
            self._head_means[layers] = means
        return means

    def _means_of(self, rows: np.ndarray) -> np.ndarray:
        first, last = rows.min(), rows.max()
        means = np.full((len(self.attention), last - first + 1, self.attention.shape[2]), np.nan)
        for i, num_weights in enumerate(self.lengths - 1):
            if num_weights:  # one answer at a time: no mask, no copy, and the padding changes nothing
                weights = self.attention[i, first : last + 1, :, :num_weights]
                means[i] = np.einsum("lht->lh", weights, dtype=np.float64) / num_weights
        return means[:, rows - first]


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks(_OfOneModel):
    """A answers of one model in batches of similar length, so that one long answer does not pad all others.

    `places` are those of each batch's answers among all A.
    """

    batches: tuple[Batch, ...]
    places: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        """One line: how many answers, in how many batches."""
        return f"Blocks({len(self.lengths)} answers in {len(self.batches)} batches)"

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each answer (A,)."""
        return self.in_order([one.lengths for one in self.batches])

    def in_order(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Rows of every batch (a, ...) in the order of all answers: (A, ...)."""
        joined = np.concatenate(parts)
        return joined[np.argsort(np.concatenate(self.places))]

    def head_means(self, layers: tuple[int, ...]) -> np.ndarray:
        """As `Batch.head_means`: (A, Lw, H)."""
        return self.in_order([one.head_means(layers) for one in self.batches])

    def take(self, rows: np.ndarray | slice) -> "Blocks":
        """The answers at these places alone; a batch that is taken whole is not copied."""
        chosen = np.arange(len(self.lengths))[rows]
        block_of = self.in_order([np.full(len(own), block) for block, own in enumerate(self.places)])[chosen]
        row_of = self.in_order([np.arange(len(own)) for own in self.places])[chosen]
        places = [np.flatnonzero(block_of == block) for block in range(len(self.batches))]
        batches = [_taken(one, row_of[own]) for one, own in zip(self.batches, places, strict=True)]
        kept = [block for block, own in enumerate(places) if own.size] or [0]
        return replace(
            self, batches=tuple(batches[block] for block in kept), places=tuple(places[block] for block in kept)
        )

    def blocks(self) -> Iterator[tuple[np.ndarray, Batch]]:
        """The places (a,) of the answers of each batch among all, and the batch."""
        return zip(self.places, self.batches, strict=True)


Answers = Batch | Blocks


def similar_lengths(lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    """Places of answers with these lengths (A,) in blocks, the shortest first.

    The longest of a block has at most a quarter more tokens than its shortest, and a padded block has at most 131,072
    tokens, so that intermediate results stay small.
    """
    blocks: list[list[int]] = []
    for place in np.argsort(lengths, kind="stable").tolist():
        length = lengths[place]
        if not blocks or length > _MOST_PADDED * lengths[blocks[-1][0]] or length * len(blocks[-1]) >= _MOST_TOKENS:
            blocks.append([])
        blocks[-1].append(place)
    return tuple(map(np.array, blocks))


def _taken(one: Batch, rows: np.ndarray) -> Batch:
    return one if np.array_equal(rows, np.arange(len(one.lengths))) else one.take(rows)


def batch(traces: Iterable[Trace], alignment: Alignment = "predicting", part: Part = "answer") -> Batch:
    """Lay traces of one model side by side, or a part of each that has thinking.

    A failure is refused, not left out: row i of the batch is the i-th item that was given.

    Raises:
        InvalidInput: no trace at all, something other than a trace, such as a `Failure` (the message names its
            position), or traces of different models or kinds.
        NotCaptured: the alignment needs attention that a trace lacks.

    Example:
        >>> lm = rauq.load_model("atlas")
        >>> answers = (" Kyoto is in Japan.", " Kyoto is in Peru.")
        >>> traces = [lm.read("Q: In which country is Kyoto? A:", answer) for answer in answers]
        >>> rauq.batch(traces)
        Batch(2 answers of at most 6 tokens, 12 layers of 8 heads)
    """
    traces = _traces(traces)
    first = _first_of_one_model(traces)
    parts = [part_of(trace, part) for trace in traces]
    lengths = np.array([1 if each is None else len(each.answer_ids) for each in parts])
    longest = lengths.max()
    attention = np.full((len(traces), len(first.layers), first.num_heads, longest - 1), np.nan, np.float32)
    logprobs, entropies = np.full((2, len(traces), longest), np.nan)
    for i, (each, length) in enumerate(zip(parts, lengths, strict=True)):
        if each is not None:
            attention[i, ..., : length - 1] = each.previous_token_attention(alignment)
            logprobs[i, :length] = each.logprobs
            entropies[i, :length] = each.entropies
    return Batch(
        attention=attention,
        logprobs=logprobs,
        entropies=entropies,
        lengths=lengths,
        alignment=alignment,
        kind=first.kind,
        vocab_size=first.vocab_size,
        layers=first.layers,
        num_layers=first.num_layers,
        part=part,
        empty=np.array([each is None for each in parts]),
    )


def batch_of_arrays(
    attention: np.ndarray,
    logprobs: np.ndarray,
    *,
    alignment: Alignment,
    part: Part = "answer",
    entropies: np.ndarray | None,
    vocab_size: int | None,
    layer_ids: Sequence[int] | None,
    num_layers: int | None,
) -> Batch:
    """One answer from bare arrays, checked; the arguments are those of `rauq.score_arrays`.

    Raises:
        InvalidInput: shapes that do not fit, or values out of their range.
    """
    attention, logprobs = np.asarray(attention), np.asarray(logprobs)
    if entropies is None:
        entropies, vocab_size = np.full(logprobs.shape, np.nan), None
    _check_shapes(attention, logprobs, np.asarray(entropies))
    _check_ranges(attention, logprobs, np.asarray(entropies), vocab_size)
    if layer_ids is None:
        layer_ids = range(len(attention))
        num_layers = num_layers or len(attention)
    layers = _whole_numbers(layer_ids)
    _check_layers(layers, num_layers, len(attention))
    return Batch(
        attention=attention[None],
        logprobs=logprobs[None],
        entropies=np.asarray(entropies)[None],
        lengths=np.array([len(logprobs)]),
        alignment=alignment,
        kind=None,
        vocab_size=vocab_size,
        layers=layers,
        num_layers=num_layers,
        part=part,
    )


def _check_shapes(attention: np.ndarray, logprobs: np.ndarray, entropies: np.ndarray) -> None:
    shapes = f"attention is {attention.shape}, logprobs {logprobs.shape}, entropies {entropies.shape}"
    if attention.ndim != 3 or 0 in attention.shape[:2] or attention.shape[2:] != (logprobs.size - 1,):
        message = f"{shapes}; attention must be (layers, heads, N - 1) for N logprobs, and N at least 1."
        raise InvalidInput(message)
    if logprobs.ndim != 1 or entropies.shape != logprobs.shape:
        message = f"{shapes}; logprobs and entropies must both be (N,)."
        raise InvalidInput(message)


def _whole_numbers(layer_ids: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, layer_ids))
    except TypeError as error:
        message = f"layer_ids is {layer_ids!r} ({error}); give one whole number, counted from 0, for each layer."
        raise InvalidInput(message) from error


def _check_layers(layers: tuple[int, ...], num_layers: int | None, num_captured: int) -> None:
    allowed = range(num_layers or 1 + max(layers, default=0))
    if len(layers) != num_captured or len(set(layers)) < len(layers) or not set(layers) <= set(allowed):
        message = (
            f"layer_ids is {layers} of {num_layers} layers; give a different index, counted from 0, "
            f"for each of the {num_captured} layers of attention."
        )
        raise InvalidInput(message)


def _check_ranges(attention: np.ndarray, logprobs: np.ndarray, entropies: np.ndarray, vocab_size: int | None) -> None:
    _check_range("attention", attention, 0.0, 1.0)
    _check_range("logprobs", logprobs, -np.inf, 0.0)
    if vocab_size is not None:
        _check_range("entropies", entropies, 0.0, float(np.log(vocab_size)))


def _check_range(name: str, values: np.ndarray, lowest: float, highest: float) -> None:
    outside = (values < lowest - _ROUNDING) | (values > highest + _ROUNDING)  # nan is allowed: it stays nan
    if outside.any():
        message = f"{name} holds {values[outside][0]}; it must lie in [{lowest:g}, {highest:g}] (nats, or weights)."
        raise InvalidInput(message)


def _traces(given: Iterable[Trace]) -> tuple[Trace, ...]:
    several: Any = given
    if isinstance(several, Trace) or not isinstance(several, Iterable):
        message = f"Got {type(several).__name__}; give a list of traces: batch([trace])."
        raise InvalidInput(message)
    traces = tuple(several)
    for position, each in enumerate(traces):
        if not isinstance(each, Trace):
            raise InvalidInput(_no_trace(each, position))
    return traces


def _no_trace(found: object, position: int) -> str:
    if isinstance(found, Failure):
        return (
            f"Got a Failure among the traces, item {position} counted from 0 ({found.error}). Leave failures out: "
            "batch([item for item in items if isinstance(item, rauq.Trace)])."
        )
    return f"Got {type(found).__name__} among the traces, item {position} counted from 0; give traces of one model."


def _first_of_one_model(traces: tuple[Trace, ...]) -> Trace:
    if not traces:
        message = "A batch needs at least one trace."
        raise InvalidInput(message)
    models = {
        (t.model, t.revision, t.kind, t.layers, t.num_layers, t.num_heads, t.vocab_size, _weights(t)) for t in traces
    }
    if len(models) > 1:
        listed = "; ".join(map(str, sorted(models, key=str)))
        message = (
            "These traces come from different models, or their weights were attributed differently (name, revision, "
            f"kind, layers, number of layers, heads, vocabulary, weights): {listed}. Make one batch per model."
        )
        raise InvalidInput(message)
    return traces[0]


def _weights(trace: Trace) -> str:
    if trace.attribution is None:
        return "attention"
    steps, side, positive = trace.attribution.method
    return f"LIG, {steps} steps, {side}{', positive' if positive else ''}"
