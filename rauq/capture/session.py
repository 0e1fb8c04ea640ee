"""Run tokens through a model with a cache, and keep the attention band of the rows that a trace needs.

Two classes have one interface: `TappedSession` records the calls of the attention interface; `StepwiseSession` is for
models outside it, which return the weights of one query at a time. Neither ever holds a T x T tensor.

The band is computed from recorded queries and keys, exactly as in eager attention:
score = query . key * scaling, softcap, mask, softmax with the sink in its normaliser, in this order, in float32.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from rauq.arguments import Act, nothing
from rauq.capture import tap
from rauq.capture.cache import NO_PREFIX, CachedModel, Prefix
from rauq.capture.extras import NOTHING, Diagonal, Kept
from rauq.capture.tap import Keys, LayerRecord, Pending, Rows, Step
from rauq.errors import UnsupportedModel
from rauq.trace.trace import NUM_BANDS
from rauq.transformers_api import PreTrainedModel

_FLUSH_BYTES = 16 << 20  # queries that may wait; the band made of them is a hundred times smaller
_CHUNK_BYTES = {"cpu": 4 << 20}  # scores that stay in the cache are 1.5 times as fast
_CHUNK_BYTES_ELSEWHERE = 256 << 20

MaskCache = dict[tuple[tuple[int, int, int], ...], Tensor]


class CaptureSession(Protocol):
    """What generation needs from a model: logits for tokens, and at the end the band and the extras."""

    kept: Kept

    def feed(self, ids: Tensor, *, tail: int, meanwhile: Act = nothing) -> Tensor:
        """Feed ids (B, n); logits (B, tail, V) of the last `tail` positions, whose rows are kept.

        `meanwhile` is called once, unless this raises: while another process computes, or before this one does.
        """

    def repeat(self, times: int) -> None:
        """Go on with `times` copies of every sequence of the batch."""

    def band(self) -> Tensor:
        """Weights (B, L, H, rows, K) of all rows kept so far, on the CPU."""

    def latest(self, layers: Sequence[int]) -> Tensor:
        """Weights (B, Lw, H) in these layers of the last row, on the position where it stands, on the CPU."""

    def close(self) -> None:
        """Give back what the sequences hold, once: nothing more will be fed, and what was kept can still be read."""


class TappedSession:
    """Records queries and keys of the attention interface; the band is computed in blocks."""

    def __init__(
        self,
        model: PreTrainedModel,
        padding: Sequence[int],
        kept: Kept = NOTHING,
        prefix: Prefix = NO_PREFIX,
        *,
        offsets: int = NUM_BANDS,
    ) -> None:
        self.cached = CachedModel(model, padding, prefix)
        self.kept = kept
        self.offsets = offsets
        self.step = Step(end=len(prefix.ids))
        modules = tap.attention_modules(model)
        self.records = {layer: LayerRecord(self.step) for layer in sorted(modules)}
        self.recorders: dict[nn.Module, tap.Recorder | tap.StatesRecorder] = {
            **{modules[layer]: record for layer, record in self.records.items()},
            **self.cached.states_recorders(kept),
        }
        if kept.diagonal is not None:
            middle = self.cached.middle
            self.recorders[modules[middle]] = _with_prompt(self.records[middle], kept.diagonal)
        self.active: list[LayerRecord] = []
        self.blocks: list[Tensor] = []

    def feed(self, ids: Tensor, *, tail: int, meanwhile: Act = nothing) -> Tensor:
        """See `CaptureSession`."""
        meanwhile()
        self.step.begin(tail, ids.shape[1])
        with tap.recording(self.recorders):
            logits: Tensor = self.cached.forward(ids, tail=tail).logits[:, -tail:]
        if not self.active:
            self._first_feed_done()
        if self._waiting_bytes() > _FLUSH_BYTES:
            self._flush()
        return logits

    def repeat(self, times: int) -> None:
        """See `CaptureSession`."""
        self._flush()
        self.blocks = [block.repeat_interleave(times, dim=0) for block in self.blocks]
        self.kept.repeat(times)
        self.cached.repeat(times)
        for record in self.active:
            record.repeat(times)

    def band(self) -> Tensor:
        """See `CaptureSession`."""
        self._flush()
        return torch.cat(self.blocks, dim=3)

    def latest(self, layers: Sequence[int]) -> Tensor:
        """See `CaptureSession`."""
        if not self.active[0].queries:  # the band has it already
            return self.blocks[-1][:, [self.layers.index(layer) for layer in layers], :, -1, 0]
        return torch.stack([last_key_weight(*self.records[layer].latest()).cpu() for layer in layers], dim=1)

    def close(self) -> None:
        """See `CaptureSession`: all goes with the session."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that recorded something: others have no softmax attention."""
        return tuple(layer for layer, record in self.records.items() if record.seen)

    def _first_feed_done(self) -> None:
        self.active = [self.records[layer] for layer in self.layers]
        for layer in self.layers:
            self.records[layer].rely_on(self.cached.cache.layers[layer])

    def _waiting_bytes(self) -> int:
        queries = self.active[0].queries if self.active else []
        return len(self.active) * len(queries) * queries[-1].nbytes if queries else 0

    def _flush(self) -> None:
        if not (self.active and self.active[0].queries):
            return
        masks: dict[torch.device, MaskCache] = {}
        layers = [self._finished(record, masks) for record in self.active]
        if len({block.shape for block in layers}) > 1:
            message = "The layers of this model have different numbers of heads, which one trace cannot hold."
            raise UnsupportedModel(message)
        if self.kept.diagonal is not None:
            self.kept.diagonal.add(layers[self.layers.index(self.cached.middle)][..., 0])
        self.blocks.append(torch.stack([block.to(layers[0].device) for block in layers], dim=1).cpu())
        for keeper in self.kept.rows:
            keeper.close()

    def _finished(self, record: LayerRecord, masks: dict[torch.device, MaskCache]) -> Tensor:
        """The band of one layer's pending rows, which go through the keepers, too."""
        pending = record.take()
        cache = masks.setdefault(pending.queries.device, {})
        for keeper in self.kept.rows:
            keeper.add(reduced(pending, cache, reduce=keeper.reduce))
        return band(pending, cache, offsets=self.offsets)


def _with_prompt(record: LayerRecord, diagonal: Diagonal) -> tap.Recorder:
    """A recorder of the middle layer that finishes the tokens which are no rows at once, while their mask is there."""

    def note(query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> None:
        record(query, key, mask, options)
        before = record.step.fed - record.step.tail
        if before > 0 and query.shape[2] < record.step.fed:  # the model skips tokens of the prompt in this layer
            diagonal.add(query.new_full((*query.shape[:2], before), torch.nan))
        elif before > 0:
            diagonal.add(own_weights(query[:, :, :before], Keys(record.seen - key.shape[2], key), mask, options))

    return note


class StepwiseSession:
    """One query at a time with `output_attentions`, after a plain prefill: (B, H, 1, T) is the largest tensor."""

    def __init__(
        self,
        model: PreTrainedModel,
        padding: Sequence[int],
        kept: Kept = NOTHING,
        prefix: Prefix = NO_PREFIX,
        *,
        offsets: int = NUM_BANDS,
    ) -> None:
        self.cached = CachedModel(model, padding, prefix)
        self.kept = kept
        self.offsets = offsets
        self.recorders = self.cached.states_recorders(kept)
        self.rows: list[Tensor] = []
        self.layers: tuple[int, ...] = ()

    def feed(self, ids: Tensor, *, tail: int, meanwhile: Act = nothing) -> Tensor:
        """See `CaptureSession`."""
        meanwhile()
        with tap.recording(self.recorders):
            if ids.shape[1] > tail:
                self._feed_before(ids[:, :-tail])
            return torch.cat([self._row(column) for column in ids[:, -tail:].split(1, dim=1)], dim=1)

    def repeat(self, times: int) -> None:
        """See `CaptureSession`."""
        self.kept.repeat(times)
        self.cached.repeat(times)
        self.rows = [row.repeat_interleave(times, dim=0) for row in self.rows]

    def band(self) -> Tensor:
        """See `CaptureSession`."""
        return torch.stack(self.rows, dim=3)

    def latest(self, layers: Sequence[int]) -> Tensor:
        """See `CaptureSession`."""
        return self.rows[-1][:, [self.layers.index(layer) for layer in layers], :, 0]

    def close(self) -> None:
        """See `CaptureSession`: all goes with the session."""

    def _feed_before(self, ids: Tensor) -> None:
        """Feed what is no row: at once, unless the weight of every token on itself is wanted."""
        if self.kept.diagonal is None:
            self.cached.forward(ids, tail=1)
            return
        for column in ids.split(1, dim=1):
            self._one(column)

    def _row(self, ids: Tensor) -> Tensor:
        output, weights = self._one(ids)
        if self.layers:
            self.rows.append(torch.stack([_nearest_of(layer, self.offsets) for layer in weights], dim=1))
        for keeper in self.kept.rows:
            for layer in weights:
                keeper.add(keeper.reduce(layer.float(), self.cached.seen - layer.shape[-1]))
            keeper.close()
        logits: Tensor = output.logits
        return logits

    def _one(self, ids: Tensor) -> tuple[Any, list[Tensor]]:
        """The model's output for one token, and the weights (B, H, 1, T) of each layer that has attention."""
        output = self.cached.forward(ids, tail=1, output_attentions=True)
        attentions = getattr(output, "attentions", None) or ()
        self.layers = tuple(layer for layer, weights in enumerate(attentions) if weights is not None)
        if self.kept.diagonal is not None:
            self.kept.diagonal.add(attentions[self.cached.middle][:, :, :, -1].float())
        return output, [attentions[layer] for layer in self.layers]


def _nearest_of(weights: Tensor, offsets: int) -> Tensor:
    """The last K = `offsets` of (B, H, 1, T), nearest first: (B, H, K), nan before the sequence."""
    nearest = weights[:, :, -1, -offsets:].flip(-1).float().cpu()
    return torch.nn.functional.pad(nearest, (0, offsets - nearest.shape[-1]), value=torch.nan)


class Scored(NamedTuple):
    """Masked scores (B, H, n, T) of the queries at `positions` (n,) with the keys from `first_key` on."""

    scores: Tensor
    positions: Tensor
    first_key: int


def band(pending: Pending, cache: MaskCache, *, offsets: int = NUM_BANDS) -> Tensor:
    """Weights (B, H, n, K) that n queries put on the K = `offsets` nearest keys; nan where a query sees no key at all.

    A key that the model masks weighs 0, a position before the sequence is nan.
    `cache` shares the mask between layers of one kind.
    """
    return torch.cat([_nearest(chunk, pending.options, offsets) for chunk in _chunks(pending, cache)], dim=2)


def reduced(pending: Pending, cache: MaskCache, *, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    """`reduce` applied to the weights (B, H, n, T) and the first key's position, a few rows at a time."""
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
        pieces.append(band(Pending(some, keys, rows, options, keys.start + end - 1), {}, offsets=1)[..., 0])
    return torch.cat(pieces, dim=2)


def single_head(
    head: int, query: Tensor, key: Tensor, options: Mapping[str, Any]
) -> tuple[Tensor, Tensor, Mapping[str, Any]]:
    """The query, the keys and the options of a single head, as views."""
    shared = head * key.shape[1] // query.shape[1]
    sinks = options.get("s_aux")
    own = options if sinks is None else {**options, "s_aux": sinks[head : head + 1]}
    return query[:, head : head + 1], key[:, shared : shared + 1], own


def last_key_weight(
    query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any], *, sums: Tensor | None = None
) -> Tensor:
    """Weights (B, H) of one query (B, H, 1, D) on the last of its keys (B, H_kv, T, D), as soon as they are there.

    In few operations, since it is called for every layer and token; `band` has the same for many rows. `sums` (B * H,):
    the logarithms of the sums of the softmaxes, where they are known; then no other key is read.

    Raises:
        UnsupportedModel: the mask hides the last key, or the model has a position bias of its own.
    """
    _refuse_unknown(options)
    if sums is not None:
        return _from_sums(query, key, options, sums)
    scores = _scores(query, key.float(), options)
    if mask is not None:
        bias = _additive(mask[:, :, -1:])
        if bool(torch.isneginf(bias[..., -1]).any()):
            message = (
                "The cache has a fixed length, so that its last key is not that of the last token. Generate with the "
                "usual, dynamic cache."
            )
            raise UnsupportedModel(message)
        scores.add_(bias)
    elif (window := options.get("sliding_window")) is not None:
        scores[..., : max(0, key.shape[2] - window)] = -torch.inf
    if (sinks := options.get("s_aux")) is not None:
        scores = torch.cat([scores, sinks.float().view(1, -1, 1, 1).expand(len(scores), -1, 1, 1)], dim=-1)
    return torch.softmax(scores, dim=-1)[:, :, 0, key.shape[2] - 1]


def _from_sums(query: Tensor, key: Tensor, options: Mapping[str, Any], sums: Tensor) -> Tensor:
    """The weights (B, H) of `last_key_weight`: those of a kernel that knows neither softcap nor sinks, in float32."""
    batch, num_heads, _, width = query.shape
    scaling = options.get("scaling")
    grouped = query.reshape(batch, key.shape[1], -1, width) @ key[:, :, -1, :, None]  # (B, H_kv, H / H_kv, 1)
    scores = grouped.view(batch, num_heads).mul_(width**-0.5 if scaling is None else scaling)
    return scores.sub_(sums.view(batch, num_heads)).exp_()


def _chunks(pending: Pending, cache: MaskCache) -> Iterator[Scored]:
    queries, keys, rows, options, last = pending
    _refuse_unknown(options)
    keys = Keys(keys.start, keys.tensor.float())
    positions = torch.arange(last - queries.shape[2] + 1, last + 1, device=queries.device)
    mask = _mask(keys, rows, positions, options.get("sliding_window"), cache)
    for chunk in _slices(queries, keys):
        scores = _scores(queries[:, :, chunk], keys.tensor, options).add_(mask[:, :, chunk])
        yield Scored(scores, positions[chunk], keys.start)


def _nearest(scored: Scored, options: Mapping[str, Any], offsets: int) -> Tensor:
    """Weights (B, H, n, K) on the K = `offsets` nearest keys; the scores are overwritten."""
    positions, start = scored.positions, scored.first_key
    wanted = positions[:, None] - torch.arange(offsets, device=positions.device)  # (n, K)
    columns = (wanted - start).clamp(min=0).expand(*scored.scores.shape[:3], offsets)
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

    The largest score is subtracted first: at scores of several hundred, the logarithm of a sum has no precision left.
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
    # Heads that share a key head form one matrix: (B, H_kv, H / H_kv * n, D) @ (B, H_kv, D, T).
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
