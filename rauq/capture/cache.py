"""A model with its cache, and the beginning that several sequences share, which is fed once.

The beginning fills the cache of a whole left-padded batch. Padding stands before the beginning, so every column of the
batch is what it is without sharing, whatever the lengths. A shorter sequence holds less of the beginning in the shared
columns, and is fed what lies beyond them.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rauq.capture import tap
from rauq.capture.extras import Kept, NoteStates
from rauq.capture.quantised import quantises_activations
from rauq.transformers_api import DummyLayer, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer, PreTrainedModel

_KEYS_AND_VALUES = {DynamicLayer, DynamicSlidingWindowLayer, DummyLayer}
_LEAST_SPARED = 32  # shared tokens, of all sequences together: with fewer, sharing costs more time than it saves


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first tokens of a sequence, with keys and values (1, H, S, D) per layer of the cache; None: it holds none."""

    ids: tuple[int, ...] = ()
    layers: tuple[tuple[Tensor, Tensor] | None, ...] = ()

    def cut(self, length: int) -> "Prefix":
        """Its first `length` tokens."""
        layers = (held and (held[0][:, :, :length], held[1][:, :, :length]) for held in self.layers)
        return Prefix(self.ids[:length], tuple(layers)) if length else NO_PREFIX

    def fill(self, cache: DynamicCache, padding: Sequence[int]) -> None:
        """Make it the first S columns of a batch with this padding, in a cache that is empty."""
        layers: Any = cache.layers
        for layer, held in zip(layers, self.layers, strict=False):
            if held is not None:
                layer.update(*(_padded(tensor, padding) for tensor in held))


NO_PREFIX = Prefix()


def prefix_of(ids: Sequence[int], cache: DynamicCache) -> Prefix:
    """The prefix of these ids, from a cache that was fed with them alone and has kept all keys and values."""
    layers: Any = cache.layers
    held = (None if layer.keys is None else (layer.keys, layer.values) for layer in layers)
    return Prefix(tuple(ids), tuple(held))


def common_length(sequences: Sequence[tuple[int, ...]]) -> int:
    """How many tokens at the beginning are the same in all sequences."""
    first, last = min(sequences), max(sequences)  # in lexicographic order, all others lie between these two
    same = (one == other for one, other in zip(first, last, strict=False))
    return next((place for place, equal in enumerate(same) if not equal), min(len(first), len(last)))


def can_share(model: PreTrainedModel) -> bool:
    """Whether all that a model keeps of a token are keys and values, which stay the same when more tokens follow.

    A recurrent state cannot be shortened, and some rotary embeddings change with the length of what was fed; quantised
    activations change with all that is fed at once.
    """
    if quantises_activations(model):
        return False
    layers = DynamicCache(config=model.config).layers
    return bool(layers) and all(type(layer) in _KEYS_AND_VALUES for layer in layers) and not _rescales(model)


def _rescales(model: PreTrainedModel) -> bool:
    kinds = [getattr(part, "rope_type", None) for part in model.modules()]
    names = [name for kind in kinds for name in (kind.values() if isinstance(kind, dict) else [kind])]
    return any("dynamic" in name or name == "longrope" for name in names if name)


def _padded(tensor: Tensor, padding: Sequence[int]) -> Tensor:
    """(1, H, S, D) as (B, H, S, D), moved to the right by the padding of each sequence."""
    length = tensor.shape[2]
    if not any(padding):
        return tensor.expand(len(padding), -1, -1, -1)
    empty = [min(places, length) for places in padding]
    return torch.cat([pad(tensor[:, :, : length - places], (0, 0, places, 0)) for places in empty])


class CachedModel:
    """A model, its cache and its padding: the plain forward pass of generation.

    It continues after a prefix that was fed before; `keep_all` keeps keys and values that no window reaches any more.
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
        self.padding = torch.tensor(padding, device=tap.input_device(model)) if any(padding) else None
        self.seen = len(prefix.ids)

    def forward(self, ids: Tensor, *, tail: int, **options: Any) -> Any:
        """One forward pass over ids (B, n), after those before; `tail` positions get logits."""
        options |= {} if "logits_to_keep" not in self.parameters else {"logits_to_keep": tail}
        options |= self._mask_and_positions(ids.shape[1])
        self.seen += ids.shape[1]
        return self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, return_dict=True, **options)

    def repeat(self, times: int) -> None:
        """Repeat every sequence of the batch."""
        # By reordering, which the recurrent layers of hybrids support as well.
        copies: Any = torch.arange(self.batch, device=tap.input_device(self.model)).repeat_interleave(times)
        self.cache.reorder_cache(copies)
        self.batch *= times
        if self.padding is not None:
            self.padding = self.padding.repeat_interleave(times)

    def states_recorders(self, kept: Kept) -> dict[nn.Module, tap.StatesRecorder]:
        """The recorders of the hidden states that are captured, by the module that gets or gives them."""
        if kept.hidden_layers is not None:
            tap.watch_all_states(self.model)
        layers = enumerate(tap.modules_of_states(self.model))
        return {
            module: partial(self._note_states, notes)
            for layer, module in layers
            if (notes := kept.of_states(layer, middle=self.middle))
        }

    def _note_states(self, notes: Sequence[NoteStates], states: Tensor) -> None:
        for note in notes:
            note(states, end=self.seen)

    @property
    def middle(self) -> int:
        """Number of the middle layer, floor(L / 2)."""
        num_layers: int = self.model.config.get_text_config(decoder=True).num_hidden_layers
        return num_layers // 2

    def _mask_and_positions(self, num_new: int) -> dict[str, Tensor]:
        if self.padding is None:  # models skip the mask altogether then
            places = torch.arange(self.seen + num_new, device=tap.input_device(self.model))[None]
            options = {}
        else:
            places = torch.arange(self.seen + num_new, device=self.padding.device) - self.padding[:, None]
            options = {"attention_mask": (places >= 0).long()}
        if "position_ids" in self.parameters:  # not every model continues the positions of its cache by itself
            options["position_ids"] = places[:, self.seen :].clamp(min=0)
        return options


class PrefixCache:
    """The prefix of one model's last sequences, owned by the call or the run that goes through them."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.kept = NO_PREFIX
        self.last: tuple[int, ...] = ()

    @cached_property
    def can_share(self) -> bool:
        """Whether the model can continue from a prefix; determined at the first prefix worth sharing."""
        return can_share(self.model)

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """The prefix, already fed, that a batch shares, or that a single sequence shares with the one before.

        At least the last `tail` tokens of the longest sequence remain to be fed.
        """
        compared = sequences if len(sequences) > 1 else [*sequences, self.last]
        self.last = sequences[-1]
        length = min(common_length(compared), max(map(len, sequences)) - tail)
        return self._of(sequences[0][:length], len(compared))

    def _of(self, ids: tuple[int, ...], times: int) -> Prefix:
        """The prefix of these ids, for this many sequences; shorter if feeding the rest saves no time, or gives NaN."""
        least = _LEAST_SPARED / (times - 1)
        num_known = common_length([self.kept.ids, ids])
        known = self.kept.cut(num_known) if num_known >= least else NO_PREFIX
        rest = ids[len(known.ids) :]
        if len(rest) < least or not self.can_share:
            return known
        cached = CachedModel(self.model, [0], known, keep_all=True)
        logits = cached.forward(torch.tensor([rest], device=tap.input_device(self.model)), tail=1).logits[:, -1]
        if logits.isnan().any():  # NaN may have reached the keys of earlier tokens, which other sequences share
            return NO_PREFIX
        self.kept = prefix_of(ids, cached.cache)
        return self.kept
