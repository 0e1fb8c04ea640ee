"""The beginning that several sequences share: fed once, it fills the cache of a whole left-padded batch.

Padding stands before the beginning, so every column of the batch is what it is without sharing, whatever the lengths.
A shorter sequence holds less of the beginning in the shared columns, and is fed what lies beyond them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DummyLayer, DynamicLayer, DynamicSlidingWindowLayer

from rauq.capture.quantised import quantises_activations

_KEYS_AND_VALUES = {DynamicLayer, DynamicSlidingWindowLayer, DummyLayer}


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
