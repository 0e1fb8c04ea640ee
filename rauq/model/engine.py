"""What runs a model: it feeds tokens, and gives logits and the weights of attention. `TransformersEngine` is one."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
import transformers
from transformers import PreTrainedModel

from rauq.arguments import Cancel
from rauq.capture import tap
from rauq.capture.cache import Prefix, PrefixCache
from rauq.capture.check import Check, check_capture
from rauq.capture.extras import Kept, Layout, without_states
from rauq.capture.quantised import quantises_activations
from rauq.capture.session import CaptureSession, StepwiseSession, TappedSession
from rauq.checkpoints.loading import bytes_held, memory_errors, running_takes_less
from rauq.trace.extras import EXTRAS, Wanted
from rauq.trace.trace import Extra, Trace


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """What a session will be fed: at most so many tokens of all its sequences together, and who may cancel it."""

    tokens: int
    cancel: Cancel | None = None


class Prefixes(Protocol):
    """What the prompts of a call share at their beginning."""

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """What a batch shares, or a single sequence with the one before; the last `tail` tokens are left."""


class Engine(Protocol):
    """What runs one model, as `LanguageModel` needs it."""

    @property
    def about(self) -> str:
        """Its name and version."""

    @property
    def run_identity(self) -> str:
        """What a resumed run has to find again, beside the packages that it keeps."""

    @property
    def device(self) -> torch.device:
        """Where logits are, and ids have to be."""

    @property
    def dtype(self) -> str:
        """Name of the dtype that it computes in."""

    @property
    def runs_alone(self) -> bool:
        """Whether batches are run one sequence at a time."""

    @property
    def lacking(self) -> str:
        """Why it captures no other extras than it does; empty where that depends on the model."""

    @property
    def model(self) -> PreTrainedModel:
        """The model of transformers.

        Raises:
            UnsupportedModel: this engine has none.
        """

    def extras(self, layers: Sequence[int], num_layers: int) -> tuple[Extra, ...]:
        """The extras that it can capture, of a model that has attention in these layers."""

    def new_prefixes(self) -> Prefixes:
        """What keeps shared beginnings from one call to the next."""

    def new_session(self, layout: Layout, wanted: Wanted, prefix: Prefix, ahead: Ahead) -> CaptureSession:
        """A cache and a recorder for one batch, which holds what its sequences share."""

    def check(self, ids: Sequence[int] | None, *, generate: Callable[..., Trace], vocab_size: int) -> Check:
        """Compare captured weights with float64; see `LanguageModel.check`."""

    def running(self, doing: str) -> AbstractContextManager[None]:
        """Turn this engine's out-of-memory into an error that says what was done."""

    def bytes_held(self, device: str) -> int:
        """Bytes of the weights in the memory of a device."""


@dataclass(frozen=True, eq=False)
class TransformersEngine:
    """A model of transformers in this process; `session_type` is how its attention is captured."""

    model: PreTrainedModel
    session_type: type[TappedSession | StepwiseSession]

    @property
    def about(self) -> str:
        """Its name and version."""
        return f"transformers {transformers.__version__}"

    @property
    def run_identity(self) -> str:
        """Nothing: a run keeps the versions of torch and transformers."""
        return ""

    @property
    def device(self) -> torch.device:
        """The device of the model's inputs."""
        return tap.input_device(self.model)

    @property
    def dtype(self) -> str:
        """Name of the dtype that the model computes in."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def lacking(self) -> str:
        """Nothing: it captures all that a model gives."""
        return ""

    @cached_property
    def runs_alone(self) -> bool:
        """Whether its activations are quantised, with a scale that all tokens of a pass share."""
        return quantises_activations(self.model)

    def extras(self, layers: Sequence[int], num_layers: int) -> tuple[Extra, ...]:
        """See `Engine`."""
        lacking: set[Extra] = set() if num_layers // 2 in layers else {"diagonal"}
        lacking |= without_states(self.model)
        return tuple(name for name in EXTRAS if name not in lacking)

    def new_prefixes(self) -> PrefixCache:
        """See `Engine`."""
        return PrefixCache(self.model)

    def new_session(self, layout: Layout, wanted: Wanted, prefix: Prefix, ahead: Ahead) -> CaptureSession:
        """See `Engine`; the cache of transformers grows as it is filled."""
        del ahead
        kept = Kept(wanted.names, layout, model=self.model)
        return self.session_type(self.model, layout.begins, kept, prefix, offsets=wanted.offsets)

    def check(self, ids: Sequence[int] | None, *, generate: Callable[..., Trace], vocab_size: int) -> Check:
        """See `Engine`."""
        tapped = self.session_type is TappedSession
        return check_capture(self.model, ids, generate=generate, vocab_size=vocab_size, tapped=tapped)

    def running(self, doing: str) -> AbstractContextManager[None]:
        """See `Engine`."""
        return memory_errors(doing, takes_less=running_takes_less(self.model))

    def bytes_held(self, device: str) -> int:
        """See `Engine`."""
        return bytes_held(self.model, device)
