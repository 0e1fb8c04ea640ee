"""A model of transformers, in this process, as an engine."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import torch

from rauq.capture import tap
from rauq.capture.cache import Prefix, PrefixCache
from rauq.capture.check import Check, check_capture
from rauq.capture.extras import Kept, Layout, without_states
from rauq.capture.quantised import quantises_activations
from rauq.capture.session import CaptureSession, StepwiseSession, TappedSession
from rauq.checkpoints.loading import bytes_held, memory_errors, running_takes_less
from rauq.errors import UnsupportedModel
from rauq.model.engines.engine import Budget
from rauq.trace.extras import EXTRAS, Wanted
from rauq.trace.trace import Extra, Trace
from rauq.transformers_api import TRANSFORMERS_VERSION, PreTrainedModel


@dataclass(frozen=True, eq=False)
class TransformersEngine:
    """A model of transformers in this process; `session_type` is how its attention is captured."""

    model: PreTrainedModel
    session_type: type[TappedSession | StepwiseSession]

    @property
    def about(self) -> str:
        """Its name and version."""
        return f"transformers {TRANSFORMERS_VERSION}"

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

    most_together = 0

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

    def new_session(self, layout: Layout, wanted: Wanted, prefix: Prefix, budget: Budget) -> CaptureSession:
        """See `Engine`; the cache of transformers grows as it is filled."""
        del budget
        kept = Kept(wanted.names, layout, model=self.model)
        return self.session_type(self.model, layout.begins, kept, prefix, offsets=wanted.offsets)

    def together(self, tokens: int) -> NoReturn:
        """None: its batches begin and end as one.

        Raises:
            UnsupportedModel: always.
        """
        del tokens
        message = 'transformers runs batches of answers that begin together. Load a GGUF file with engine="llama.cpp".'
        raise UnsupportedModel(message)

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
