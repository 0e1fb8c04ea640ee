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
class Found:
    """Rows (n,) of a batch that are kept: their order among all that a step keeps, sequences, and keys they see."""

    places: Tensor
    order: Tensor
    sequences: Tensor
    lengths: Tensor

    def batches(self) -> Iterator[Tensor]:
        """Places of these rows that are computed together: all sequences with one row, and each other one by itself."""
        _, inverse, counts = self.sequences.unique(return_inverse=True, return_counts=True)
        single = counts[inverse] == 1
        if single.any():
            yield single.nonzero()[:, 0]
        for sequence in self.sequences[~single].unique():
            yield (self.sequences == sequence).nonzero()[:, 0]


def found_in(slots: Tensor, positions: Tensor, batch: Any) -> Found:
    """Where the rows of these slots (n,) are in a batch; one at another position than it should have is left out."""
    count = batch.num_actual_tokens
    there, by_slot = batch.slot_mapping[:count].long().sort()
    at = torch.searchsorted(there, slots).clamp(max=count - 1)
    order = (there[at] == slots).nonzero()[:, 0]
    places = by_slot[at[order]]
    ends = batch.query_start_loc[1:].long()
    sequences = torch.searchsorted(ends, places, right=True)
    lengths = batch.seq_lens.long()[sequences] - (ends[sequences] - 1 - places)
    right = lengths == positions[order] + 1
    return Found(places[right], order[right], sequences[right], lengths[right])


@dataclass(eq=False)
class Step:
    """The rows (n, L, H, K) of one step, nan until their layer is computed; then the logits that follow from them."""

    parts: Sequence[Part]
    rows: np.ndarray
    _found: dict[int, Found] = field(default_factory=dict)

    def group(self, number: int, batch: Any) -> Found:
        """Where the rows are in a batch of a group of layers, which all see the same."""
        if number not in self._found:
            slots = np.concatenate([part.slots[number] for part in self.parts])
            positions = np.concatenate([part.positions for part in self.parts])
            self._found[number] = found_in(torch.from_numpy(slots), torch.from_numpy(positions), batch)
        return self._found[number]

    def save(self) -> None:
        """Append the rows to the files of their requests."""
        for part, rows in self._each():
            append(part.asked.weights, part.positions, self.rows[rows])

    def save_entropies(self, logits: Tensor) -> None:
        """Append the entropies of the logits (S, V), one row for each sequence: that of its last token."""
        found = next(iter(self._found.values()), None)  # sequences are the same in every group
        for part, rows in self._each():
            here = [] if found is None else (found.order == rows.stop - 1).nonzero()[:, 0].tolist()
            if here and found is not None:
                logprobs = logits[found.sequences[here]].float().log_softmax(-1)
                entropy = -(logprobs.exp() * logprobs).nan_to_num().sum(-1)  # a token ruled out has 0 * -inf
                append(part.asked.entropies, part.positions[-1:], entropy.numpy())

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
        found = step.group(self.group, batch)
        size = cache.shape[2]
        if len(found.places) and not self.layout:
            slot = int(batch.slot_mapping[found.places[0]])
            self.layout = layout_of(cache[slot // size], key[found.places[0]], slot % size)
        for rows in found.batches():
            several = bool((found.sequences[rows] == found.sequences[rows[0]]).all()) and len(rows) > 1
            shape = (1, len(rows)) if several else (len(rows), 1)
            lengths = found.lengths[rows].view(shape)
            sequences = found.sequences[rows[:1] if several else rows]
            used = -(-int(lengths.max()) // size)
            kept = weights(
                query[found.places[rows]].view(*shape, *query.shape[1:]),
                cache[batch.block_table[sequences, :used].long()],
                lengths,
                layout=self.layout,
                softmax=self.softmax,
                offsets=step.rows.shape[3],
            )
            step.rows[found.order[rows].numpy(), self.number] = kept.view(len(rows), *kept.shape[2:]).numpy()
