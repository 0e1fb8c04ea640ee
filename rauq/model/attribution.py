"""From a trace to one whose weights are LIG attributions, once it is known to be of this model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rauq.arguments import Cancel
from rauq.capture.attribution import (
    Attributed,
    answer_of,
    attribute_layer,
    completeness,
    num_passes,
    read,
)
from rauq.errors import InvalidInput, Stopped
from rauq.model.context import ModelDescription
from rauq.scoring.settings import attributed_layers
from rauq.trace.attribution import Attribution
from rauq.trace.trace import Trace
from rauq.transformers_api import PreTrainedModel

OnPasses = Callable[[int, int], object]  # backward passes done, and in all


def attributed(
    described: ModelDescription,
    model: PreTrainedModel,
    trace: Trace,
    *,
    layers: Sequence[int] | None,
    how: Attribution,
    device: torch.device,
    on_progress: OnPasses | None,
    cancel: Cancel | None,
) -> Trace:
    """The trace with LIG weights of these layers, and the completeness errors in `how`.

    Raises:
        InvalidInput: layers that cannot be attributed, or a trace of another model.
        UnsupportedModel: the model's blocks are unknown, or it gives no gradients.
        Stopped: cancelled.
    """
    chosen = attributed_layers(layers, captured=described.layers, num_layers=described.num_layers)
    _check_model(described, trace)
    answer = answer_of(trace.prompt_ids, trace.answer_ids, device)
    found: list[Attributed] = []
    if answer.num_targets:
        sites, logprobs = read(model, answer, chosen, side=how.side)
        _check_logprobs(described, trace, logprobs, exact=model.dtype == torch.float32)
        progress = _Progress(len(chosen) * num_passes(model, answer, steps=how.steps), on_progress, cancel)
        options: Any = {"num_heads": described.num_heads, "steps": how.steps, "positive": how.positive}
        # The highest layer first: if any layer is refused, this one is.
        found = [attribute_layer(model, answer, sites[layer], **options, on_pass=progress) for layer in chosen[::-1]]
    median, largest = completeness([one.errors for one in found])
    return replace(
        trace,
        layers=chosen,
        attention=_band(found, (len(chosen), described.num_heads, len(trace.answer_ids) + 1, 1)),
        extras={},
        attribution=replace(how, median_error=median, max_error=largest),
    )


def _band(found: Sequence[Attributed], shape: tuple[int, ...]) -> np.ndarray:
    """Weights (L, H, N + 1, 1) where `Trace` has those of attention: row i predicts answer token i; others are nan.

    `found` has the highest layer first.
    """
    band = np.full(shape, np.nan, dtype=np.float32)
    for row, one in enumerate(reversed(found)):
        band[row, :, 1:-1, 0] = one.weights
    return band


def _check_model(described: ModelDescription, trace: Trace) -> None:
    of_trace = (trace.model, trace.revision, trace.num_layers, trace.vocab_size)
    own = (described.name, described.revision, described.num_layers, described.vocab_size)
    if of_trace != own:
        message = (
            f"This trace is of another model (name, revision, layers, vocabulary): {of_trace}, and this model is "
            f"{own}. Load the trace's own model."
        )
        raise InvalidInput(message)


def _check_logprobs(described: ModelDescription, trace: Trace, logprobs: np.ndarray, *, exact: bool) -> None:
    """A model of the same name in a folder may have other weights."""
    differences = np.abs(trace.logprobs[1:] - logprobs)
    largest, most = np.max(differences, initial=0.0, where=np.isfinite(differences)), 0.01 if exact else 0.5
    if largest > most:
        message = (
            f"{described.name} gives other log-probabilities than those of the trace (by {largest:.3g} nats, and at "
            f"most {most:g} is rounding): its weights or its precision have changed. Load the model of the trace."
        )
        raise InvalidInput(message)


class _Progress:
    """Called before each backward pass: counts it, and stops once cancelled."""

    def __init__(self, total: int, on_progress: OnPasses | None, cancel: Cancel | None) -> None:
        self.done, self.total, self.on_progress, self.cancel = 0, total, on_progress, cancel

    def __call__(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            message = f"The attribution was stopped after {self.done} of {self.total} passes, so there is no result."
            raise Stopped(message)
        if self.on_progress is not None:
            self.on_progress(self.done, self.total)
        self.done += 1
