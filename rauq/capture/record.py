"""What one attention layer showed: queries by reference, keys that the cache holds anyway, masks.

Nothing is computed while decoding: a step appends two references and moves one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Rows(NamedTuple):
    """The queries of one call: how many, their mask (None: causal), and the position of the mask's first key."""

    number: int
    mask: Tensor | None
    first_key: int


class Keys(NamedTuple):
    """Keys (B, H_kv, T, D) of the positions from `start` on."""

    start: int
    tensor: Tensor

    @property
    def end(self) -> int:
        """The position after the last key."""
        return self.start + int(self.tensor.shape[2])


class Pending(NamedTuple):
    """Queries (B, H, n, D) that wait for their weights, the last at `last_position`, and all that makes the weights.

    `keys` are those that they can see, `rows` their masks, `options` the other arguments of the attention call.
    """

    queries: Tensor
    keys: Keys
    rows: list[Rows]
    options: Mapping[str, Any]
    last_position: int


@dataclass(eq=False)
class Step:
    """How many tokens were fed, how many of them are wanted as rows, and where they end.

    The mask rows cut for one layer serve all layers of its kind. Layers that share keys may skip tokens of the prompt,
    so none of them counts for itself.
    """

    tail: int = 1
    fed: int = 0
    end: int = 0
    mask: Tensor | None = None
    mask_rows: Tensor | None = None

    def begin(self, tail: int, num_new: int) -> None:
        """Go on to the next tokens, and forget the masks of those before."""
        self.tail, self.fed, self.mask, self.mask_rows = tail, num_new, None, None
        self.end += num_new

    def cut(self, mask: Tensor | None) -> Tensor | None:
        """The last `tail` rows of a mask, copied: a view would keep the T x T mask alive."""
        if mask is None or mask.shape[2] <= self.tail:
            return mask
        if mask is not self.mask:
            self.mask, self.mask_rows = mask, mask[:, :, -self.tail :].clone()
        return self.mask_rows


class LayerRecord:
    """The pending rows of one layer, and the keys that they need."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.seen = 0
        self.queries: list[Tensor] = []
        self.rows: list[Rows] = []
        self.evicted: list[Keys] = []
        self.keys: Keys | None = None
        self.cache: Any = None
        self.options: Mapping[str, Any] = {}

    def __call__(self, query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> None:
        """Note one call of the attention function; see `rauq.capture.tap.Recorder`."""
        num_queries = query.shape[2]
        self.seen = self.step.end
        if num_queries > self.step.tail:
            query = query[:, :, -self.step.tail :].clone()  # a view would keep the queries of the whole prompt
        if num_queries > 1:
            mask = self.step.cut(mask)
        first_key = self.seen - key.shape[2]
        self.queries.append(query)
        self.rows.append(Rows(query.shape[2], mask, first_key))
        self.options = options
        if self.cache is None:
            if first_key > 0:
                self._keep_evicted(first_key, key.shape[2])
            self.keys = Keys(first_key, key)

    def rely_on(self, cache: Any) -> None:
        """Hold no key where this layer of the cache holds them all: one kept a step longer fragments the heap."""
        if self.keys is not None and cache.keys is self.keys.tensor:
            self.cache, self.keys = cache, None

    def _keep_evicted(self, first_key: int, window: int) -> None:
        """Keep the last keys that this step no longer sees, where a pending row needs them: once in a window."""
        previous = self.keys
        if previous is None or (self.evicted and first_key <= self.evicted[-1].end):
            return
        needed = window + self.pending
        if previous.tensor.shape[2] > 2 * needed:
            previous = Keys(previous.end - needed, previous.tensor[:, :, -needed:].clone())
        self.evicted.append(previous)

    @property
    def pending(self) -> int:
        """Rows recorded since the last `take`."""
        return sum(rows.number for rows in self.rows)

    def take(self) -> Pending:
        """The pending rows, which the record forgets."""
        last = self.keys if self.cache is None else Keys(0, self.cache.keys)
        assert last is not None  # noqa: S101 - only called on layers that recorded
        keys, queries = _stitched([*self.evicted, last]), torch.cat(self.queries, dim=2)
        taken = Pending(queries, keys, self.rows, self.options, self.seen - 1)
        self.queries, self.rows, self.evicted = [], [], []
        return taken

    def repeat(self, times: int) -> None:
        """Follow a batch that was repeated `times` times, after `take`."""
        if self.keys is not None:
            self.keys = Keys(self.keys.start, self.keys.tensor.repeat_interleave(times, dim=0))


def _stitched(parts: list[Keys]) -> Keys:
    """One run of keys from overlapping ones; what lies before a gap is older than any pending row can see."""
    joined = parts[-1]
    for part in reversed(parts[:-1]):
        if part.end < joined.start:
            break
        missing = part.tensor[:, :, : joined.start - part.start]
        joined = Keys(part.start, torch.cat([missing, joined.tensor], dim=2)) if part.start < joined.start else joined
    return joined
