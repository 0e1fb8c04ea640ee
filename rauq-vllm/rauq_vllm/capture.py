"""What a worker keeps of one step: the rows of the batch that were asked for, layer by layer."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rauq_vllm.attention import Softmax, weights, weights_near
from rauq_vllm.check import LayerStep, Row, check, has_totals, layouts_of
from rauq_vllm.kernel import Totals
from rauq_vllm.plan import Part
from rauq_vllm.rows import append

_MOST_NUMBERS = 2**21  # of the key caches, copied at a time, if more than one layer's
_MOST_TOKENS = 2**17  # of all sequences, whose keys are copied at a time


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows that are computed together, R of each of S sequences.

    `places` (S, R) in the batch, `order` (S, R) among all rows that a step keeps, `lengths` (S, R): how many keys each
    sees, `blocks` (S, U): where these are in the cache.
    """

    places: Tensor
    order: Tensor
    lengths: Tensor
    blocks: Tensor

    @cached_property
    def alone(self) -> tuple[Tensor, Tensor]:
        """Each row as a sequence of its own: how many keys it sees (S * R,), and where these are (S * R, U)."""
        return self.lengths.flatten(), self.blocks.repeat_interleave(self.lengths.shape[1], 0)


@dataclass(frozen=True, eq=False)
class Found:
    """The rows of a step in a batch: their order among all that it keeps (n,), and their sequences (n,).

    `longest`: the row that sees the most keys, if there is any.
    """

    order: Tensor
    sequences: Tensor
    batches: tuple[RowBatch, ...]
    longest: Row | None


def found_in(slots: Tensor, positions: Tensor, batch: Any, size: int) -> Found:
    """Where the rows of these slots (n,) are in a batch, whose cache has blocks of `size` tokens.

    A row at another position than it should have is left out.
    """
    count = batch.num_actual_tokens
    there, by_slot = batch.slot_mapping[:count].long().sort()
    at = torch.searchsorted(there, slots).clamp(max=count - 1)
    order = (there[at] == slots).nonzero()[:, 0]
    places = by_slot[at[order]]
    ends = batch.query_start_loc[1:].long()
    sequences = torch.searchsorted(ends, places, right=True)
    lengths = batch.seq_lens.long()[sequences] - (ends[sequences] - 1 - places)
    right = lengths == positions[order] + 1
    order, places, sequences, lengths = order[right], places[right], sequences[right], lengths[right]

    def row_batch(rows: Tensor) -> RowBatch:
        used = -(-int(lengths[rows].max()) // size)
        blocks = batch.block_table[sequences[rows[:, 0]], :used].long()
        return RowBatch(places[rows], order[rows], lengths[rows], blocks)

    most = max(1, _MOST_TOKENS // int(lengths.max())) if len(lengths) else 1  # sequences
    batches = tuple(row_batch(some) for rows in _by_sequence(sequences) for some in rows.split(most))
    return Found(order, sequences, batches, max(map(_longest, batches), key=lambda row: row.length, default=None))


def _longest(rows: RowBatch) -> Row:
    sequence, number = divmod(int(rows.lengths.argmax()), rows.lengths.shape[1])
    return Row(int(rows.places[sequence, number]), int(rows.lengths[sequence, number]), rows.blocks[sequence])


def _by_sequence(sequences: Tensor) -> Iterator[Tensor]:
    """Rows (S, R) of these (n,): those that are alone in their sequence together, and each other sequence by itself."""
    _, inverse, counts = sequences.unique(return_inverse=True, return_counts=True)
    single = (counts[inverse] == 1).nonzero()
    if len(single):
        yield single
    for sequence in (counts > 1).nonzero()[:, 0]:
        yield (inverse == sequence).nonzero().T


@dataclass(eq=False)
class Layer:
    """One layer's capture: which of the rows' layers it is, its group, its softmax, and how its cache stores keys.

    `checked`: the length of the longest sequence at which the output was compared; None: it differed, and no rows are
    kept. `has_totals`: whether the kernel's totals were right then, and are used.
    """

    number: int
    group: int
    softmax: Softmax
    layouts: tuple[str, str] = ("", "")
    checked: int | None = 0
    has_totals: bool = False

    def note(self, step: "Step", computed: LayerStep) -> None:
        """Keep what the weights follow from.

        Raises:
            ValueError: an unknown layout of the cache, or a different output; raised once for each layer.
        """
        found = step.group(self.group, computed.batch, computed.keys.shape[2])
        if found.longest is None or self.checked is None:
            return
        if found.longest.length >= 2 * self.checked:  # a wrong window changes the output of longer sequences only
            self._check(computed, found.longest)
        queries = tuple(computed.query[rows.places] for rows in found.batches)
        totals = computed.totals if self.has_totals else None
        step.inputs.append(LayerInputs(self, found, queries, computed.keys, totals))

    def _check(self, computed: LayerStep, row: Row) -> None:
        self.checked = None
        self.layouts = layouts_of(computed, row)
        check(computed, row, self.layouts, self.softmax)
        self.has_totals = has_totals(computed, row, self.layouts[0], self.softmax)
        self.checked = row.length

    @property
    def kind(self) -> Hashable:
        """Layers of one kind can be computed together."""
        softmax = self.softmax
        return self.group, self.layouts, softmax.scale, softmax.window, softmax.softcap, id(softmax.sinks)


@dataclass(frozen=True, eq=False)
class LayerInputs:
    """What the weights of a layer follow from: the queries (S, R, H, D) of each batch of rows, and the key cache.

    `totals`: of the kernel, where they are used.
    """

    layer: Layer
    found: Found
    queries: tuple[Tensor, ...]
    cache: Tensor
    totals: Totals | None

    def near(self, place: int, rows: RowBatch, totals: Totals, *, offsets: int) -> Tensor:
        """The weights (S, R, H, K) of one batch of rows, from the totals."""
        query = self.queries[place]
        found = totals(query.flatten(0, 1), *rows.alone).view(query.shape[:3])
        return weights_near(
            query,
            self.cache,
            rows.lengths,
            blocks=rows.blocks,
            totals=found,
            softmax=self.layer.softmax,
            offsets=offsets,
        )


def _keys(layers: Sequence[LayerInputs], rows: RowBatch) -> Tensor:
    """The blocks (L * S, U, G, B, D) of the rows in each layer."""
    places, block = rows.blocks.flatten(), layers[0].cache.shape[1:]
    found = layers[0].cache.new_empty(len(layers), len(places), *block)
    for one, blocks in zip(layers, found, strict=True):
        torch.index_select(one.cache, 0, places, out=blocks)
    return found.view(-1, rows.blocks.shape[1], *block)


@dataclass(eq=False)
class Step:
    """The rows (n, L, H, K) of one step, nan until their layer is computed; then the logits that follow from them."""

    parts: Sequence[Part]
    rows: np.ndarray
    inputs: list[LayerInputs] = field(default_factory=list)
    _found: dict[int, Found] = field(default_factory=dict)

    def group(self, number: int, batch: Any, size: int) -> Found:
        """Where the rows are in a batch of a group of layers, which all see the same."""
        if number not in self._found:
            slots = np.concatenate([part.slots[number] for part in self.parts])
            positions = np.concatenate([part.positions for part in self.parts])
            device = batch.slot_mapping.device
            rows = (torch.from_numpy(slots).to(device), torch.from_numpy(positions).to(device))
            self._found[number] = found_in(*rows, batch, size)
        return self._found[number]

    def save(self) -> None:
        """Compute the rows of all layers, and append them to the files of their requests."""
        kinds = defaultdict(list)
        for one in self.inputs:
            kinds[one.layer.kind, one.totals is None].append(one)
        for layers in kinds.values():
            for place, batch in enumerate(layers[0].found.batches):
                self._compute(layers, place, batch)
        for part, rows in self._each():
            append(part.asked.weights, part.positions, self.rows[rows])

    def _compute(self, layers: Sequence[LayerInputs], place: int, rows: RowBatch) -> None:
        """Compute one batch of rows in layers of one kind, all of which have totals, or none."""
        offsets = self.rows.shape[3]
        try:
            near = [one.near(place, rows, one.totals, offsets=offsets) for one in layers if one.totals is not None]
        except Exception:  # noqa: BLE001 - whatever a kernel refuses, the weights are recomputed without it
            for one in layers:
                one.layer.has_totals = False
            near = []
        if near:
            self._put(layers, rows, torch.stack(near))
        else:
            self._recompute(layers, place, rows)

    def _recompute(self, layers: Sequence[LayerInputs], place: int, rows: RowBatch) -> None:
        """Compute rows from all keys, in several layers at a time: a call for each layer takes longer."""
        most = max(1, _MOST_NUMBERS // (rows.blocks.numel() * layers[0].cache[0].numel()))
        for start in range(0, len(layers), most):
            together = layers[start : start + most]
            found = weights(
                torch.cat([one.queries[place] for one in together]),
                _keys(together, rows),
                rows.lengths.repeat(len(together), 1),
                layout=together[0].layer.layouts[0],
                softmax=together[0].layer.softmax,
                offsets=self.rows.shape[3],
            )
            self._put(together, rows, found.view(len(together), *rows.order.shape, *found.shape[2:]))

    def _put(self, layers: Sequence[LayerInputs], rows: RowBatch, found: Tensor) -> None:
        """Note weights (L, S, R, H, K) in their places."""
        numbers = np.array([one.layer.number for one in layers])
        self.rows[rows.order.cpu().numpy()[None], numbers[:, None, None]] = found.cpu().numpy()

    def save_entropies(self, logits: Tensor) -> None:
        """Append the entropies of the logits (S, V), one row for each sequence: that of its last token."""
        found = next(iter(self._found.values()), None)  # sequences are the same in every group
        if found is None:
            return
        sequence_of = dict(zip(found.order.tolist(), found.sequences.tolist(), strict=True))
        last = [(part, sequence_of[rows.stop - 1]) for part, rows in self._each() if rows.stop - 1 in sequence_of]
        logprobs = logits[[sequence for _, sequence in last]].float().log_softmax(-1)
        logprobs.clamp_(min=torch.finfo(torch.float32).min)  # a token ruled out would have 0 * -inf
        entropies = -torch.linalg.vecdot(logprobs.exp(), logprobs)
        for (part, _), entropy in zip(last, entropies.cpu().numpy(), strict=True):
            append(part.asked.entropies, part.positions[-1:], entropy[None])

    def _each(self) -> Iterator[tuple[Part, slice]]:
        start = 0
        for part in self.parts:
            yield part, slice(start, start + len(part.positions))
            start += len(part.positions)
