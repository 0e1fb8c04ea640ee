"""From recorded queries and keys to the band of attention weights, exactly as eager attention would have had them.

score = query . key * scaling, softcap, mask, softmax with the sink in its normaliser: in this order, in float32.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rauq.capture.tap import Keys, Pending, Rows
from rauq.errors import UnsupportedModel
from rauq.trace.trace import NUM_BANDS

_CHUNK_BYTES = {"cpu": 4 << 20}  # scores that stay in the cache are 1.5 times as fast
_CHUNK_BYTES_ELSEWHERE = 256 << 20

MaskCache = dict[tuple[tuple[int, int, int], ...], Tensor]


class Scored(NamedTuple):
    """Masked scores (B, H, n, T) of the queries at `positions` (n,) with the keys from `first_key` on."""

    scores: Tensor
    positions: Tensor
    first_key: int


def band(pending: Pending, cache: MaskCache) -> Tensor:
    """Weights (B, H, n, K) that n queries put on the K nearest keys; nan where a query sees no key at all.

    A key that the model masks weighs 0, a position before the sequence is nan.
    `cache` shares the mask between layers of one kind.
    """
    return torch.cat([_nearest(chunk, pending.options) for chunk in _chunks(pending, cache)], dim=2)


def reduced(pending: Pending, cache: MaskCache, *, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    """What `reduce` makes of the weights (B, H, n, T) and the first key's position, a few rows at a time."""
    chunks = _chunks(pending, cache)
    return torch.cat([reduce(_weights(chunk, pending.options), chunk.first_key) for chunk in chunks], dim=2)


def own_weights(queries: Tensor, keys: Keys, mask: Tensor | None, options: Mapping[str, Any]) -> Tensor:
    """Weights (B, H, n) of the queries from `keys.start` on, each on its own key; no mask is built for all of them."""
    keys = Keys(keys.start, keys.tensor.float())
    pieces = []
    for chunk in _slices(queries, keys):
        some = queries[:, :, chunk]
        end = chunk.start + some.shape[2]
        rows = [Rows(some.shape[2], mask if mask is None else mask[:, :, chunk.start : end], keys.start)]
        pieces.append(band(Pending(some, keys, rows, options, keys.start + end - 1), {})[..., 0])
    return torch.cat(pieces, dim=2)


def _chunks(pending: Pending, cache: MaskCache) -> Iterator[Scored]:
    queries, keys, rows, options, last = pending
    _refuse_unknown(options)
    keys = Keys(keys.start, keys.tensor.float())
    positions = torch.arange(last - queries.shape[2] + 1, last + 1, device=queries.device)
    mask = _mask(keys, rows, positions, options.get("sliding_window"), cache)
    for chunk in _slices(queries, keys):
        scores = _scores(queries[:, :, chunk], keys.tensor, options).add_(mask[:, :, chunk])
        yield Scored(scores, positions[chunk], keys.start)


def _nearest(scored: Scored, options: Mapping[str, Any]) -> Tensor:
    """Weights (B, H, n, K) on the K nearest keys; the scores are used up."""
    positions, start = scored.positions, scored.first_key
    wanted = positions[:, None] - torch.arange(NUM_BANDS, device=positions.device)  # (n, K)
    columns = (wanted - start).clamp(min=0).expand(*scored.scores.shape[:3], NUM_BANDS)
    exponentials, total = _normalised(scored.scores, options)
    weights = exponentials.gather(-1, columns).div_(total)
    weights.masked_fill_(wanted < start, 0.0)
    return weights.masked_fill_(wanted < 0, torch.nan)


def _weights(scored: Scored, options: Mapping[str, Any]) -> Tensor:
    """The weights (B, H, n, T) of all keys."""
    exponentials, total = _normalised(scored.scores, options)
    return exponentials.div_(total)


def _normalised(scores: Tensor, options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Exponentials (B, H, n, T) of the scores, in place, and their sums (B, H, n, 1), including the sink.

    The largest score is subtracted first: at scores of several hundred, the logarithm of a sum has no digits left.
    """
    largest = scores.amax(dim=-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
    sinks = options.get("s_aux")
    if sinks is None:
        exponentials = scores.sub_(largest).exp_()
        return exponentials, exponentials.sum(dim=-1, keepdim=True)
    sink = sinks.float().view(1, -1, 1, 1)
    largest = torch.maximum(largest, sink)
    exponentials = scores.sub_(largest).exp_()
    return exponentials, exponentials.sum(dim=-1, keepdim=True).add_(torch.exp(sink - largest))


def _scores(queries: Tensor, keys: Tensor, options: Mapping[str, Any]) -> Tensor:
    batch, num_heads, num_rows, width = queries.shape
    num_key_heads, num_keys = keys.shape[1:3]
    scaling = options.get("scaling")
    scaled = queries.float() * (width**-0.5 if scaling is None else scaling)
    # Heads that share a key head stand in one matrix: (B, H_kv, H / H_kv * n, D) @ (B, H_kv, D, T).
    grouped = scaled.reshape(batch, num_key_heads, -1, width) @ keys.transpose(2, 3)
    scores = grouped.reshape(batch, num_heads, num_rows, num_keys)
    softcap = options.get("softcap")
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def _mask(keys: Keys, rows: Sequence[Rows], positions: Tensor, window: int | None, cache: MaskCache) -> Tensor:
    """What to add to the scores, (B or 1, 1, n, T): 0, -inf, or the model's own bias."""
    identity = ((keys.start, len(positions), window or 0), *((id(r.mask), r.first_key, r.number) for r in rows))
    if identity not in cache:
        cache[identity] = _built_mask(keys, rows, positions, window)
    return cache[identity]


def _built_mask(keys: Keys, rows: Sequence[Rows], positions: Tensor, window: int | None) -> Tensor:
    given = [_additive(row.mask) for row in rows if row.mask is not None]
    batch = max((mask.shape[0] for mask in given), default=1)
    key_positions = torch.arange(keys.start, keys.end, device=positions.device)
    built = torch.zeros(batch, 1, len(positions), len(key_positions), device=positions.device)
    built.masked_fill_(key_positions > positions[:, None], -torch.inf)
    first_row = 0
    for row in rows:
        here = slice(first_row, first_row + row.number)
        before = row.first_key - keys.start  # keys that these rows no longer saw; negative where old keys were dropped
        built[:, :, here, : max(0, before)] = -torch.inf
        if row.mask is not None:
            bias = _additive(row.mask)[..., max(0, -before) :]
            built[:, :, here, max(0, before) : max(0, before) + bias.shape[-1]] = bias
        elif window is not None:
            built[:, :, here].masked_fill_(key_positions <= positions[here, None] - window, -torch.inf)
        first_row += row.number
    return built


def _additive(mask: Tensor) -> Tensor:
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -torch.inf)
    # Models write "masked" as the smallest number of their dtype, or as that plus a bias.
    return mask.float().masked_fill(mask <= torch.finfo(mask.dtype).min / 2, -torch.inf)


def _slices(queries: Tensor, keys: Keys) -> Iterator[slice]:
    batch, num_heads, num_rows = queries.shape[:3]
    budget = _CHUNK_BYTES.get(queries.device.type, _CHUNK_BYTES_ELSEWHERE)
    size = max(1, budget // (4 * batch * num_heads * keys.tensor.shape[2]))
    yield from (slice(start, start + size) for start in range(0, num_rows, size))


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    if options.get("position_bias") is not None:
        message = "This model adds a learned position bias to its attention, which cannot be captured exactly."
        raise UnsupportedModel(message)
