"""Feed what sequences share at their beginning once, and keep it for the next ones."""

from collections.abc import Sequence
from functools import cached_property

import torch
from transformers import PreTrainedModel

from rauq.capture.prefix import NO_PREFIX, Prefix, can_share, common_length, prefix_of
from rauq.capture.session import CachedModel

_LEAST_SPARED = 32  # tokens of all sequences that are worth a pass: with fewer, two sequences take longer than before


class PrefixCache:
    """The prefix of one model's last sequences, owned by the call or the run that goes through them."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.kept = NO_PREFIX
        self.last: tuple[int, ...] = ()

    @cached_property
    def can_share(self) -> bool:
        """Whether the model can go on from a prefix at all; asked only once something is worth it."""
        return can_share(self.model)

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """What the sequences of a batch share, already fed, or what a single one shares with the one before.

        Of the longest sequence at least the last `tail` tokens are left.
        """
        compared = sequences if len(sequences) > 1 else [*sequences, self.last]
        self.last = sequences[-1]
        length = min(common_length(compared), max(map(len, sequences)) - tail)
        return self._of(sequences[0][:length], len(compared))

    def _of(self, ids: tuple[int, ...], times: int) -> Prefix:
        """The prefix of these ids for so many sequences; shorter where the rest is not worth a pass, or gives NaN."""
        least = _LEAST_SPARED / (times - 1)
        num_known = common_length([self.kept.ids, ids])
        known = self.kept.cut(num_known) if num_known >= least else NO_PREFIX
        rest = ids[len(known.ids) :]
        if len(rest) < least or not self.can_share:
            return known
        cached = CachedModel(self.model, [0], known, keep_all=True)
        logits = cached.forward(torch.tensor([rest], device=self.model.device), tail=1).logits[:, -1]
        if logits.isnan().any():  # it may have reached keys of the tokens before, which others share
            return NO_PREFIX
        self.kept = prefix_of(ids, cached.cache)
        return self.kept
