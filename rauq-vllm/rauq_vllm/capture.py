"""What a worker keeps of one step: the rows of the batch that were asked for, layer by layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rauq_vllm.attention import Softmax, layout_of, weights
from rauq_vllm.plan import Part
from rauq_vllm.rows import append


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


@dataclass(frozen=True, eq=False)
class Found:
    """The rows of a step in a batch: their order among all that it keeps (n,), and their sequences (n,)."""

    order: Tensor
    sequences: Tensor
    batches: tuple[RowBatch, ...]


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

    return Found(order, sequences, tuple(map(row_batch, _by_sequence(sequences))))


def _by_sequence(sequences: Tensor) -> Iterator[Tensor]:
    """Rows (S, R) of these (n,): those that are alone in their sequence together, and each other sequence by itself."""
    _, inverse, counts = sequences.unique(return_inverse=True, return_counts=True)
    single = (counts[inverse] == 1).nonzero()
    if len(single):
        yield single
    for sequence in (counts > 1).nonzero()[:, 0]:
        yield (inverse == sequence).nonzero().T


@dataclass(eq=False)
class Step:
    """The rows (n, L, H, K) of one step, nan until their layer is computed; then the logits that follow from them."""

    parts: Sequence[Part]
    rows: np.ndarray
    _found: dict[int, Found] = field(default_factory=dict)

    def group(self, number: int, batch: Any, size: int) -> Found:
        """Where the rows are in a batch of a group of layers, which all see the same."""
        if number not in self._found:
            slots = np.concatenate([part.slots[number] for part in self.parts])
            positions = np.concatenate([part.positions for part in self.parts])
            self._found[number] = found_in(torch.from_numpy(slots), torch.from_numpy(positions), batch, size)
        return self._found[number]

    def save(self) -> None:
        """Append the rows to the files of their requests."""
        for part, rows in self._each():
            append(part.asked.weights, part.positions, self.rows[rows])

    def save_entropies(self, logits: Tensor) -> None:
        """Append the entropies of the logits (S, V), one row for each sequence: that of its last token."""
        found = next(iter(self._found.values()), None)  # sequences are the same in every group
        if found is None:
            return
        sequence_of = dict(zip(found.order.tolist(), found.sequences.tolist(), strict=True))
        last = [(part, sequence_of[rows.stop - 1]) for part, rows in self._each() if rows.stop - 1 in sequence_of]
        logprobs = logits[[sequence for _, sequence in last]].float().log_softmax(-1)
        entropies = -(logprobs.exp() * logprobs).nan_to_num().sum(-1)  # a token ruled out has 0 * -inf
        for (part, _), entropy in zip(last, entropies.numpy(), strict=True):
            append(part.asked.entropies, part.positions[-1:], entropy[None])

    def _each(self) -> Iterator[tuple[Part, slice]]:
        start = 0
        for part in self.parts:
            yield part, slice(start, start + len(part.positions))
            start += len(part.positions)


@dataclass(eq=False)
class Layer:
    """One layer's capture: which of the rows' layers it is, its group, its softmax, and how its cache stores keys."""

    number: int
    group: int
    softmax: Softmax
    layout: str = ""

    def note(self, step: Step, query: Tensor, key: Tensor, cache: Tensor, batch: Any) -> None:
        """Compute the rows of this layer from queries (m, H, D), keys (m, G, D) and the cache (blocks, G, B, D)."""
        size = cache.shape[2]
        found = step.group(self.group, batch, size)
        for rows in found.batches:
            if not self.layout:
                place = rows.places[0, 0]
                slot = int(batch.slot_mapping[place])
                self.layout = layout_of(cache[slot // size], key[place], slot % size)
            kept = weights(
                query[rows.places],
                cache[rows.blocks],
                rows.lengths,
                layout=self.layout,
                softmax=self.softmax,
                offsets=step.rows.shape[3],
            )
            step.rows[rows.order.numpy(), self.number] = kept.numpy()
