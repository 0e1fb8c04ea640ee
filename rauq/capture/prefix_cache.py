"""Feed what sequences share at their beginning once, and keep it for the next ones."""

from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from rauq.capture.prefix import NO_PREFIX, Prefix, can_share, common_length, prefix_of
from rauq.capture.session import CachedModel

_FEWEST = 16  # shared tokens that are worth a pass of their own


class PrefixCache:
    """The prefix of one model's last sequences, owned by the call or the run that goes through them."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.can_share = can_share(model)
        self.kept = NO_PREFIX
        self.last: tuple[int, ...] = ()

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """What the sequences of a batch share, already fed, or what a single one shares with the one before.

        Of the longest sequence at least the last `tail` tokens are left.
        """
        compared = sequences if len(sequences) > 1 else [*sequences, self.last]
        self.last = sequences[-1]
        length = min(common_length(compared), max(map(len, sequences)) - tail)
        return self._of(sequences[0][:length]) if self.can_share else NO_PREFIX

    def _of(self, ids: tuple[int, ...]) -> Prefix:
        """The prefix of these ids; without those that are too few for a pass, and without any that give NaN."""
        known = self.kept.cut(common_length([self.kept.ids, ids]))
        rest = ids[len(known.ids) :]
        if len(rest) < _FEWEST:
            return known
        cached = CachedModel(self.model, [0], known, keep_all=True)
        logits = cached.forward(torch.tensor([rest], device=self.model.device), tail=1).logits[:, -1]
        if logits.isnan().any():  # it may have reached keys of the tokens before, which others share
            return NO_PREFIX
        self.kept = prefix_of(ids, cached.cache)
        return self.kept
