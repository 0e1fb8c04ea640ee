"""From raw logits to what a trace keeps of them: log-probability, entropy, the most probable tokens."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rauq.trace.trace import NUM_ALTERNATIVES

_BLOCK_BYTES = {"cpu": 1 << 20}  # logits that stay in the cache are reduced in half the time
_BLOCK_BYTES_ELSEWHERE = 16 << 20
_WAITING_ROWS = 32
_LEAST_IN_FOCUS = 0.01


class TokenStatistics(NamedTuple):
    """Per row: log-probability and entropy (R,) in nats, ids and log-probabilities (R, 10) of the most probable.

    `focus` (R, 2) and `mean_logprob` (R, 1) are those of `rauq.trace.extras`; (R, 0) where they are not wanted.
    """

    logprobs: Tensor
    entropies: Tensor
    top_ids: Tensor
    top_logprobs: Tensor
    focus: Tensor
    mean_logprob: Tensor

    def extras(self) -> dict[str, np.ndarray]:
        """The extras of a trace that come from logits, where they are wanted."""
        columns = {"focus": self.focus, "mean_logprob": self.mean_logprob}
        return {name: column.squeeze(1).numpy().copy() for name, column in columns.items() if column.shape[1]}


def token_statistics(logits: Tensor, ids: Tensor, idf: Tensor | None = None, *, mean: bool = False) -> TokenStatistics:
    """Statistics of the chosen `ids` (R,) under `logits` (R, V), in float32, on the CPU.

    `idf` (V,) is for `focus`, and `mean` says whether `mean_logprob` is wanted.
    """
    budget = _BLOCK_BYTES.get(logits.device.type, _BLOCK_BYTES_ELSEWHERE)
    size = max(1, budget // (4 * logits.shape[-1]))
    pairs = zip(logits.split(size), ids.split(size), strict=True)
    blocks = [_of_block(some, chosen, idf, mean=mean) for some, chosen in pairs]
    return TokenStatistics(*(torch.cat(column).cpu() for column in zip(*blocks, strict=True)))


def _of_block(logits: Tensor, ids: Tensor, idf: Tensor | None, *, mean: bool) -> TokenStatistics:
    logprobs = logits.float().log_softmax(dim=-1)
    top = logprobs.topk(min(NUM_ALTERNATIVES, logprobs.shape[-1]), dim=-1)
    probabilities = logprobs.exp()
    lowest = torch.finfo(logprobs.dtype).min  # finite, so that a token of probability 0 adds nothing
    entropies = logprobs.clamp(min=lowest).neg_().mul_(probabilities).sum(dim=-1)
    chosen, absent = logprobs.gather(1, ids[:, None])[:, 0], logprobs.new_empty(len(ids), 0)
    focus = absent if idf is None else _focus(probabilities, ids, idf)
    return TokenStatistics(
        chosen, entropies, top.indices, top.values, focus, _mean_of_possible(logprobs) if mean else absent
    )


def _mean_of_possible(logprobs: Tensor) -> Tensor:
    """The mean (R, 1) of log-probabilities (R, V) without tokens that the model rules out."""
    return logprobs.masked_fill(logprobs.isneginf(), torch.nan).nanmean(dim=-1, keepdim=True)


def _focus(probabilities: Tensor, ids: Tensor, idf: Tensor) -> Tensor:
    weighed = probabilities.masked_fill(probabilities < _LEAST_IN_FOCUS, 0.0) * idf.to(probabilities.device)
    focused = weighed / weighed.sum(dim=-1, keepdim=True)
    bits = -torch.xlogy(focused, focused).sum(dim=-1) / math.log(2)  # nan where a probability is below 0
    return torch.stack([focused.gather(1, ids[:, None])[:, 0], bits], dim=-1)


class LogitsBuffer:
    """Logits (B, V) of one decoding step after another, reduced a block at a time.

    They are copied into one block of memory: many small tensors kept between the large ones of the cache would
    fragment the heap.
    """

    def __init__(self, idf: Tensor | None = None, *, mean: bool = False) -> None:
        self.idf, self.mean = idf, mean
        self.logits: Tensor | None = None  # (B, S, V)
        self.ids: list[Tensor] = []
        self.blocks: list[TokenStatistics] = []

    def add(self, logits: Tensor, ids: Tensor) -> None:
        """Note the logits (B, V) that led to ids (B,)."""
        if self.logits is None:
            batch, vocab_size = logits.shape
            self.logits = logits.new_empty(batch, max(1, _WAITING_ROWS // batch), vocab_size)
        self.logits[:, len(self.ids)] = logits
        self.ids.append(ids)
        if len(self.ids) == self.logits.shape[1]:
            self._reduce()

    def statistics(self) -> TokenStatistics:
        """Everything noted so far: (B, N), (B, N), (B, N, 10), (B, N, 10), (B, N, 2 or 0), (B, N, 1 or 0)."""
        if self.ids:
            self._reduce()
        return TokenStatistics(*(torch.cat(column, dim=1) for column in zip(*self.blocks, strict=True)))

    def _reduce(self) -> None:
        assert self.logits is not None  # noqa: S101 - ids were added with logits
        ids = torch.stack(self.ids, dim=1)
        rows = self.logits[:, : len(self.ids)].flatten(0, 1)
        flat = token_statistics(rows, ids.flatten(), self.idf, mean=self.mean)
        self.blocks.append(TokenStatistics(*(column.unflatten(0, ids.shape) for column in flat)))
        self.ids = []
