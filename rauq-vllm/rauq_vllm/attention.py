"""Attention recomputed from the blocks of a key cache: weights on the keys just behind a query, and the output.

The logarithm of the softmax's sum over all keys is computed here, or a kernel's own is used.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_LARGEST_WEIGHT = 1.01  # 1, and rounding
LAYOUTS = ("rows", "columns")
"""How a kernel stores the keys, or the values, of a block: (B, D), or (D, B)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax:
    """How a layer turns products of queries and keys into weights; a `window` of 0 has no bound, nor a `softcap`.

    `sinks` (H,): logits that take a share of the weight.
    """

    scale: float
    window: int = 0
    softcap: float = 0.0
    sinks: Tensor | None = None


def layout_of(block: Tensor, stored: Tensor, place: int) -> str:
    """The layout of a block (G, B, D) in which `stored` (G, D), a key or a value, stands at `place`.

    Raises:
        ValueError: it stands there in none of `LAYOUTS`.
    """
    heads, size, width = block.shape
    found = {"rows": block[:, place], "columns": block.reshape(heads, width, size)[:, :, place]}
    for layout in LAYOUTS:
        if torch.equal(found[layout], stored.to(block.dtype)):
            return layout
    message = f"The key cache has a layout that rauq-vllm does not know; it knows {' and '.join(LAYOUTS)} of a block."
    raise ValueError(message)


def weights(query: Tensor, blocks: Tensor, lengths: Tensor, *, layout: str, softmax: Softmax, offsets: int) -> Tensor:
    """The weights (S, R, H, K) which queries (S, R, H, D) of S sequences put on the key 0, 1 ... K - 1 positions back.

    `blocks` (S, U, G, B, D): the blocks of each sequence in order, as the cache has them; G divides H. `lengths`
    (S, R): how many keys a query sees, its own last. Weights are 0 beyond the window, and nan before the sequence.
    """
    scores, total = _logits(query, blocks, lengths, layout, softmax)
    wanted = lengths[..., None] - 1 - torch.arange(offsets, device=lengths.device)  # (S, R, K)
    columns = wanted.clamp(min=0)[:, :, None].expand(*scores.shape[:3], -1)
    found = (scores.gather(-1, columns) - total).exp()
    return found.masked_fill((wanted < 0)[:, :, None], torch.nan)


def weights_near(
    query: Tensor, cache: Tensor, lengths: Tensor, *, blocks: Tensor, totals: Tensor, softmax: Softmax, offsets: int
) -> Tensor:
    """As `weights`, from the logarithms `totals` (S, R, H) of the sums: only the keys just behind a query are read.

    `cache` (blocks, G, B, D) has one key in each row; `blocks` (S, U): the numbers of each sequence's blocks.
    Where a total is not finite, or so small that a weight would be above 1, the weight is nan.
    """
    size = cache.shape[2]
    back = torch.arange(offsets, device=cache.device)
    wanted = lengths[..., None] - 1 - back  # (S, R, K)
    near = wanted.clamp(min=0)
    used = blocks.gather(1, (near // size).flatten(1)).view(near.shape)
    keys = cache[used, :, near % size].float()  # (S, R, K, G, D)
    groups, width = keys.shape[3:]
    grouped = query.float().view(*query.shape[:2], groups, -1, width)
    scores = _capped(torch.einsum("srghd,srkgd->srghk", grouped, keys).flatten(2, 3) * softmax.scale, softmax)
    found = (scores - totals[..., None]).exp()  # (S, R, H, K)
    if softmax.window:
        found = found.masked_fill(back >= softmax.window, 0.0)
    impossible = (found > _LARGEST_WEIGHT) | ~totals.isfinite()[..., None]
    return found.masked_fill((wanted < 0)[:, :, None] | impossible, torch.nan)


def total(query: Tensor, keys: Tensor, length: int, *, layout: str, softmax: Softmax) -> Tensor:
    """The logarithm (H,) of the softmax's sum for a query (H, D) that sees so many keys in blocks (U, G, B, D)."""
    lengths = torch.tensor([[length]], device=query.device)
    return _logits(query[None, None], keys[None], lengths, layout, softmax)[1][0, 0, :, 0]


def output(query: Tensor, keys: Tensor, values: Tensor, *, layout: str, softmax: Softmax) -> Tensor:
    """A layer's output (H, D) for a query (H, D) that sees values (G, T, D), from blocks of keys (U, G, B, D)."""
    groups, length, _ = values.shape
    lengths = torch.tensor([[length]], device=query.device)
    scores, total = _logits(query[None, None], keys[None], lengths, layout, softmax)
    weight = (scores - total).exp()[0, 0, :, :length]  # (H, T)
    return (weight.view(groups, -1, length) @ values.float()).view(query.shape)


def in_order(blocks: Tensor, layout: str) -> Tensor:
    """The keys or values in blocks (U, G, B, D) of this layout, by position (G, U * B, D)."""
    used, groups, size, width = blocks.shape
    rows = blocks.reshape(used, groups, width, size).transpose(-1, -2) if layout == "columns" else blocks
    return rows.transpose(0, 1).reshape(groups, used * size, width)


def _logits(query: Tensor, blocks: Tensor, lengths: Tensor, layout: str, softmax: Softmax) -> tuple[Tensor, Tensor]:
    """The logits (S, R, H, T) of the softmax over all keys, and the logarithm (S, R, H, 1) of its sum."""
    scores = _capped(_scores(query, blocks, layout) * softmax.scale, softmax)  # (S, R, H, T)
    place = torch.arange(scores.shape[-1], device=scores.device)
    unseen = place >= lengths[..., None]
    if softmax.window:
        unseen = unseen | (place < lengths[..., None] - softmax.window)
    scores = scores.masked_fill(unseen[:, :, None], -torch.inf)
    total = scores.logsumexp(-1, keepdim=True)
    if softmax.sinks is not None:
        total = torch.logaddexp(total, softmax.sinks.float()[:, None])
    return scores, total


def _capped(scores: Tensor, softmax: Softmax) -> Tensor:
    return softmax.softcap * torch.tanh(scores / softmax.softcap) if softmax.softcap else scores


def _scores(query: Tensor, blocks: Tensor, layout: str) -> Tensor:
    """Products (S, R, H, T) of queries with all keys of their sequence."""
    sequences, rows, heads, width = query.shape
    _, used, groups, size, _ = blocks.shape
    keys = blocks.reshape(sequences, used, groups, width, size) if layout == "columns" else blocks.transpose(-1, -2)
    grouped = query.float().view(sequences, rows, groups, -1, width).transpose(1, 2)  # (S, G, R, H / G, D)
    found = grouped.reshape(sequences, 1, groups, -1, width) @ keys.float()  # (S, U, G, R * H / G, B)
    apart = found.view(sequences, used, groups, rows, heads // groups, size)
    return apart.permute(0, 3, 2, 4, 1, 5).reshape(sequences, rows, heads, used * size)
