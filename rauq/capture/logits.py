"""From raw logits to what a trace keeps of them: log-probability, entropy, the most probable tokens."""

from typing import NamedTuple

import torch
from torch import Tensor

from rauq.trace import NUM_ALTERNATIVES

_BLOCK_ROWS = 32


class TokenStatistics(NamedTuple):
    """Per row: log-probability and entropy (R,) in nats, ids and log-probabilities (R, 10) of the most probable."""

    logprobs: Tensor
    entropies: Tensor
    top_ids: Tensor
    top_logprobs: Tensor


def token_statistics(logits: Tensor, ids: Tensor) -> TokenStatistics:
    """Statistics of the chosen `ids` (R,) under `logits` (R, V), in float32, on the CPU."""
    blocks = [
        _of_block(rows, chosen) for rows, chosen in zip(logits.split(_BLOCK_ROWS), ids.split(_BLOCK_ROWS), strict=True)
    ]
    return TokenStatistics(*(torch.cat(column).cpu() for column in zip(*blocks, strict=True)))


def _of_block(logits: Tensor, ids: Tensor) -> TokenStatistics:
    logprobs = logits.float().log_softmax(dim=-1)
    top = logprobs.topk(min(NUM_ALTERNATIVES, logprobs.shape[-1]), dim=-1)
    entropies = torch.special.entr(logprobs.exp()).sum(dim=-1)
    return TokenStatistics(logprobs.gather(1, ids[:, None])[:, 0], entropies, top.indices, top.values)


class LogitsBuffer:
    """Logits (B, V) of one decoding step after another, reduced a block at a time.

    They are copied into one block of memory: many small tensors kept between the large ones of the cache would
    fragment the heap.
    """

    def __init__(self) -> None:
        self.logits: Tensor | None = None  # (B, S, V)
        self.ids: list[Tensor] = []
        self.blocks: list[TokenStatistics] = []

    def add(self, logits: Tensor, ids: Tensor) -> None:
        """Note the logits (B, V) that led to ids (B,)."""
        if self.logits is None:
            batch, vocab_size = logits.shape
            self.logits = logits.new_empty(batch, max(1, _BLOCK_ROWS // batch), vocab_size)
        self.logits[:, len(self.ids)] = logits
        self.ids.append(ids)
        if len(self.ids) == self.logits.shape[1]:
            self._reduce()

    def statistics(self) -> TokenStatistics:
        """Everything noted so far: (B, N), (B, N), (B, N, 10), (B, N, 10)."""
        if self.ids:
            self._reduce()
        return TokenStatistics(*(torch.cat(column, dim=1) for column in zip(*self.blocks, strict=True)))

    def _reduce(self) -> None:
        assert self.logits is not None  # noqa: S101 - ids were added with logits
        ids = torch.stack(self.ids, dim=1)
        flat = token_statistics(self.logits[:, : len(self.ids)].flatten(0, 1), ids.flatten())
        self.blocks.append(TokenStatistics(*(column.unflatten(0, ids.shape) for column in flat)))
        self.ids = []
