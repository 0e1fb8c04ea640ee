"""What generation needs of what runs a model: it feeds tokens, and gives logits and the weights of attention."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import torch

from rauq.arguments import Cancel
from rauq.capture.cache import Prefix
from rauq.capture.check import Check
from rauq.capture.extras import Layout
from rauq.capture.session import CaptureSession
from rauq.trace.extras import Wanted
from rauq.trace.trace import Extra, Trace
from rauq.transformers_api import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class Budget:
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
    def most_together(self) -> int:
        """How many sequences run at once of which each may begin and end while others run; 0 where none may."""

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

    def new_session(self, layout: Layout, wanted: Wanted, prefix: Prefix, budget: Budget) -> CaptureSession:
        """A cache and a recorder for one batch, which holds what its sequences share."""

    def together(self, tokens: int) -> AbstractContextManager[None]:
        """Within it, sessions of one sequence run at once, each in a thread of its own.

        `tokens`: the most that they may have in all, as whoever begins them has to see to.

        Raises:
            UnsupportedModel: it does not join sequences.
        """

    def check(self, ids: Sequence[int] | None, *, generate: Callable[..., Trace], vocab_size: int) -> Check:
        """Compare captured weights with float64; see `LanguageModel.check`."""

    def running(self, doing: str) -> AbstractContextManager[None]:
        """Turn this engine's out-of-memory into an error that says what was done."""

    def bytes_held(self, device: str) -> int:
        """Bytes of the weights in the memory of a device."""
