"""Run tokens through a model with a cache, and keep the attention band of the rows that a trace needs.

Two classes have one interface: `TappedSession` records the calls of the attention interface; `StepwiseSession` is for
models outside it, which return the weights of one query at a time. Neither ever holds a T x T tensor.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from rauq.capture import tap
from rauq.capture.band import MaskCache, band, own_weights, reduced
from rauq.capture.extras import NOTHING, Diagonal, Kept
from rauq.capture.prefix import NO_PREFIX, Prefix
from rauq.capture.tap import Keys, LayerRecord, Step
from rauq.errors import UnsupportedModel
from rauq.trace.trace import NUM_BANDS

_FLUSH_BYTES = 16 << 20  # queries that may wait; the band made of them is a hundred times smaller


class CaptureSession(Protocol):
    """What generation needs from a model: logits for tokens, and at the end the band and the extras."""

    kept: Kept

    def feed(self, ids: Tensor, *, tail: int) -> Tensor:
        """Feed ids (B, n); logits (B, tail, V) of the last `tail` positions, whose rows are kept."""

    def repeat(self, times: int) -> None:
        """Go on with `times` copies of every sequence of the batch."""

    def band(self) -> Tensor:
        """Weights (B, L, H, rows, K) of all rows kept so far, on the CPU."""


class CachedModel:
    """A model, its cache and its padding: the plain forward pass of generation.

    It goes on after a prefix that was fed before; `keep_all` keeps keys and values that no window reaches any more.
    """

    def __init__(
        self, model: PreTrainedModel, padding: Sequence[int], prefix: Prefix = NO_PREFIX, *, keep_all: bool = False
    ) -> None:
        self.model = model
        self.cache = DynamicCache(config=model.config)
        if keep_all:
            self.cache.activate_past_recording()
        prefix.fill(self.cache, padding)
        self.parameters = inspect.signature(model.forward).parameters
        self.batch = len(padding)
        self.padding = torch.tensor(padding, device=model.device) if any(padding) else None
        self.seen = len(prefix.ids)

    def forward(self, ids: Tensor, *, tail: int, **options: Any) -> Any:
        """One forward pass over ids (B, n), after those before; `tail` positions get logits."""
        options |= {} if "logits_to_keep" not in self.parameters else {"logits_to_keep": tail}
        options |= self._mask_and_positions(ids.shape[1])
        self.seen += ids.shape[1]
        return self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, return_dict=True, **options)

    def repeat(self, times: int) -> None:
        """Repeat every sequence of the batch."""
        # As a reordering: only that is known to the recurrent layers of hybrids, too.
        copies: Any = torch.arange(self.batch, device=self.model.device).repeat_interleave(times)
        self.cache.reorder_cache(copies)
        self.batch *= times
        if self.padding is not None:
            self.padding = self.padding.repeat_interleave(times)

    def states_recorder(self, kept: Kept) -> dict[nn.Module, tap.StatesRecorder]:
        """The recorders of the hidden states that enter the middle block, if these are captured."""
        hidden, block = kept.hidden, tap.middle_block(self.model)
        return {} if hidden is None or block is None else {block: lambda states: hidden.note(states, end=self.seen)}

    @property
    def middle(self) -> int:
        """Number of the middle layer, floor(L / 2)."""
        num_layers: int = self.model.config.get_text_config(decoder=True).num_hidden_layers
        return num_layers // 2

    def _mask_and_positions(self, num_new: int) -> dict[str, Tensor]:
        if self.padding is None:  # models skip the mask altogether then
            places = torch.arange(self.seen + num_new, device=self.model.device)[None]
            options = {}
        else:
            places = torch.arange(self.seen + num_new, device=self.padding.device) - self.padding[:, None]
            options = {"attention_mask": (places >= 0).long()}
        if "position_ids" in self.parameters:  # not every model continues the positions of its cache by itself
            options["position_ids"] = places[:, self.seen :].clamp(min=0)
        return options


class TappedSession:
    """Records queries and keys of the attention interface; the band is computed in blocks."""

    def __init__(
        self, model: PreTrainedModel, padding: Sequence[int], kept: Kept = NOTHING, prefix: Prefix = NO_PREFIX
    ) -> None:
        self.cached = CachedModel(model, padding, prefix)
        self.kept = kept
        self.step = Step(end=len(prefix.ids))
        modules = tap.attention_modules(model)
        self.records = {layer: LayerRecord(self.step) for layer in sorted(modules)}
        self.recorders: dict[nn.Module, tap.Recorder | tap.StatesRecorder] = {
            **{modules[layer]: record for layer, record in self.records.items()},
            **self.cached.states_recorder(kept),
        }
        if kept.diagonal is not None:
            middle = self.cached.middle
            self.recorders[modules[middle]] = _with_prompt(self.records[middle], kept.diagonal)
        self.active: list[LayerRecord] = []
        self.blocks: list[Tensor] = []

    def feed(self, ids: Tensor, *, tail: int) -> Tensor:
        """See `CaptureSession`."""
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
        return band(pending, cache)


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
        self, model: PreTrainedModel, padding: Sequence[int], kept: Kept = NOTHING, prefix: Prefix = NO_PREFIX
    ) -> None:
        self.cached = CachedModel(model, padding, prefix)
        self.kept = kept
        self.recorders = self.cached.states_recorder(kept)
        self.rows: list[Tensor] = []
        self.layers: tuple[int, ...] = ()

    def feed(self, ids: Tensor, *, tail: int) -> Tensor:
        """See `CaptureSession`."""
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
            self.rows.append(torch.stack([_nearest(layer) for layer in weights], dim=1))
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


def _nearest(weights: Tensor) -> Tensor:
    """The last K of (B, H, 1, T), nearest first: (B, H, K), nan before the sequence."""
    nearest = weights[:, :, -1, -NUM_BANDS:].flip(-1).float().cpu()
    return torch.nn.functional.pad(nearest, (0, NUM_BANDS - nearest.shape[-1]), value=torch.nan)
