"""The entropies of the next tokens, read where vLLM has the logits of a step; nothing is changed there."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from vllm.distributed.kv_transfer import get_kv_transfer_group, has_kv_transfer_group
from vllm.v1.sample.logits_processor import LogitsProcessor


class EntropyReader(LogitsProcessor):
    """A logits processor that shows the logits to the connector."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:  # noqa: FBT001 - vLLM's own
        """Nothing is needed of them."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request for weights whose probabilities would not be the model's, or that has several answers.

        Raises:
            ValueError: with the names of its options.
        """
        asked = ((sampling_params.extra_args or {}).get("kv_transfer_params") or {}).get("rauq")
        if asked and (faults := list(_faults(sampling_params))):
            message = f"kv_transfer_params.rauq does not go with {', '.join(faults)}. Leave out one or the other."
            raise ValueError(message)

    def is_argmax_invariant(self) -> bool:
        """No: those that say yes are not called for greedy answers."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Nothing: the connector knows the batch."""

    def apply(self, logits: Tensor) -> Tensor:
        """Show the logits (S, V), and give them back as they are."""
        note = getattr(get_kv_transfer_group(), "note_logits", None) if has_kv_transfer_group() else None
        if note is not None:
            note(logits)
        return logits


def _faults(params: Any) -> Iterator[str]:
    """The options that other processors apply before this one, or to the probabilities themselves."""
    for name, is_so in {
        "n above 1": (params.n or 1) > 1,
        "min_tokens": params.min_tokens,
        "logit_bias": params.logit_bias,
        "allowed_token_ids": params.allowed_token_ids,
        "bad_words": params.bad_words,
        "structured outputs": params.structured_outputs,
    }.items():
        if is_so:
            yield name
