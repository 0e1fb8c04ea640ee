"""From raw logits to what a trace keeps of them: log-probability, entropy, the most probable tokens."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, pad

from rauq.trace.file import LENS_TOKENS
from rauq.trace.trace import NUM_ALTERNATIVES
from rauq.transformers_api import PreTrainedModel

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
    entropies = _entropies(logprobs, probabilities)
    chosen, absent = logprobs.gather(1, ids[:, None])[:, 0], logprobs.new_empty(len(ids), 0)
    focus = absent if idf is None else _focus(probabilities, ids, idf)
    return TokenStatistics(
        chosen, entropies, top.indices, top.values, focus, _mean_of_possible(logprobs) if mean else absent
    )


def chosen_and_entropies(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of the chosen `ids` (R,) under `logits` (R, V), and entropy, (R,) in nats, in float32."""
    logprobs = logits.float().log_softmax(dim=-1)
    return logprobs.gather(1, ids[:, None])[:, 0], _entropies(logprobs, logprobs.exp())


def _entropies(logprobs: Tensor, probabilities: Tensor) -> Tensor:
    lowest = torch.finfo(logprobs.dtype).min  # finite, so that a token of probability 0 adds nothing
    return logprobs.clamp(min=lowest).neg_().mul_(probabilities).sum(dim=-1)


def _mean_of_possible(logprobs: Tensor) -> Tensor:
    """The mean (R, 1) of log-probabilities (R, V) without tokens that the model rules out."""
    return logprobs.masked_fill(logprobs.isneginf(), torch.nan).nanmean(dim=-1, keepdim=True)


def _focus(probabilities: Tensor, ids: Tensor, idf: Tensor) -> Tensor:
    weighed = probabilities.masked_fill(probabilities < _LEAST_IN_FOCUS, 0.0) * idf.to(probabilities.device)
    focused = weighed / weighed.sum(dim=-1, keepdim=True)
    bits = -torch.xlogy(focused, focused).sum(dim=-1) / math.log(2)  # nan where a probability is below 0
    return torch.stack([focused.gather(1, ids[:, None])[:, 0], bits], dim=-1)


_LENS_BYTES = 64 << 20  # logits at a time: with fewer rows, reading the head's weights takes most of the time


def logit_lens(model: PreTrainedModel, states: Tensor, ids: Sequence[int]) -> Tensor:
    """The extra `logit_lens` (l, N, 21) of an answer's ids (N,), from its hidden states (l + 1, N, d), on the CPU."""
    head: Any = model.get_output_embeddings()
    embeddings: Any = model.get_input_embeddings()
    states = torch.cat([states[:-2], states[-1:]])  # K leaves out h_{l-1}
    rows = states.flatten(0, 1)
    chosen = torch.tensor(ids, device=rows.device).repeat(len(states))
    size = max(1, _LENS_BYTES // (4 * head.out_features))
    pairs = zip(rows.split(size), chosen.split(size), strict=True)
    blocks = [_through_lens(head(some).float(), tokens) for some, tokens in pairs]
    ranks, top, probabilities = (torch.cat(each).unflatten(0, states.shape[:2]) for each in zip(*blocks, strict=True))
    vectors = embeddings(top).float()  # (l, N, 10, d)
    cosines = pad(cosine_similarity(vectors[1:], vectors[:-1], dim=-1), (0, 0, 0, 0, 1, 0))
    return torch.cat([ranks.cpu(), cosines.cpu(), probabilities.cpu()], dim=-1)


def _through_lens(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ranks (R, 1) of the ids (R,) in logits (R, V), the ids of the ten largest, ascending, and their probabilities."""
    ranks = 1 + (logits > logits.gather(1, ids[:, None])).sum(dim=-1, keepdim=True)
    top = logits.topk(LENS_TOKENS, dim=-1).indices.sort(dim=-1).values
    return ranks.float(), top, logits.softmax(dim=-1).gather(1, top)


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
