"""The proof: the captured band against the model's own eager attention, and that no token sees a later one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from rauq.capture import tap
from rauq.capture.feed import TappedFeed
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.trace import NUM_BANDS, Trace

if TYPE_CHECKING:
    from rauq.language_model import LanguageModel

EXACT = 1e-5
_PROMPT_TOKENS = 16
_ANSWER_TOKENS = 8
_MOST_TOKENS = 1024
_STEPS = 6
LOW_PRECISION = 2e-2  # eager rounds its scores to the low precision before the softmax, other kernels do not


@dataclass(frozen=True)
class Check:
    """Largest absolute difference of attention weights, per captured layer, and what is tolerated."""

    layers: tuple[int, ...]
    differences: tuple[float, ...]
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether every layer agrees with eager attention."""
        return bool(self.differences) and all(difference <= self.tolerance for difference in self.differences)

    @property
    def broken(self) -> bool:
        """Whether a layer does not even have weights in the right places, which no rounding explains."""
        return not self.differences or float("inf") in self.differences

    def __str__(self) -> str:
        worst = max(self.differences, default=float("nan"))
        verdict = "exact" if self.exact else "NOT exact"
        return (
            f"{verdict}: {len(self.layers)} layers, largest difference to eager attention {worst:.1e} "
            f"(tolerated {self.tolerance:.0e})"
        )


def check_capture(lm: "LanguageModel", ids: Sequence[int] | None) -> Check:
    """What `LanguageModel.check` finds for these prompt tokens, or for seeded random ones.

    Raises:
        InvalidInput: too many of them for eager attention.
        UnsupportedModel: the model does not return its attention.
    """
    if ids is None:
        ids = np.random.default_rng(0).integers(lm.vocab_size, size=_PROMPT_TOKENS).tolist()
    if len(ids) > _MOST_TOKENS:
        message = f"Eager attention is quadratic: check up to {_MOST_TOKENS} tokens, not {len(ids)}."
        raise InvalidInput(message)
    if lm.dtype != "float32" and lm.feed_type is TappedFeed:
        return compare_in_float32(lm.model, ids)
    return compare_with_eager(lm.model, lm.generate(ids, max_new_tokens=_ANSWER_TOKENS, stop=(), last_row=True))


def compare_with_eager(model: PreTrainedModel, trace: Trace) -> Check:
    """The band that generation left, against one eager pass over prompt and answer.

    In low precision use `compare_in_float32`: kernels that round differently drift apart from layer to layer, by
    much more than the weights of any one layer are off.
    """
    weights = eager_attention(model, [*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()], trace.layers)
    differences = [
        _difference(captured, band_of_matrix(eager, len(trace.prompt_ids) - 1, captured.shape[-1]))
        for captured, eager in zip(trace.attention, weights, strict=True)
    ]
    tolerance = EXACT if model.dtype == torch.float32 else LOW_PRECISION
    return Check(trace.layers, tuple(differences), tolerance)


@torch.inference_mode()
def compare_in_float32(model: PreTrainedModel, ids: Sequence[int]) -> Check:
    """The band of each eager attention call, against the eager function on the same inputs in float32.

    The last tokens are fed one by one, as when decoding.
    """
    feed = TappedFeed(model, [0])
    expected: dict[int, list[Tensor]] = {}

    def replaying(layer: int, module: nn.Module) -> tap.Recorder:
        attend = tap.eager_function(module)

        def note(query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> None:
            query, key = query.float(), key.float()
            feed.records[layer](query, key, mask, options)
            weights = attend(module, query, key, key, mask if mask is None else mask.float(), **options)[1]
            expected.setdefault(layer, []).append(_nearest(weights[0, :, -1]))

        return note

    feed.recorders = {module: replaying(layer, module) for layer, module in tap.attention_modules(model).items()}
    num_steps = min(_STEPS, len(ids) - 1)
    tokens = torch.tensor([ids], device=model.device)
    with _eager(model):
        for part in (tokens[:, : len(ids) - num_steps], *tokens[:, len(ids) - num_steps :].split(1, dim=1)):
            feed.feed(part, tail=1)
    before = np.arange(len(ids) - num_steps - 1, len(ids))[:, None] < np.arange(NUM_BANDS)
    differences = [
        _difference(rows, np.where(before, np.nan, torch.stack(expected[layer], dim=1).numpy()))
        for layer, rows in zip(feed.layers, feed.band()[0].numpy(), strict=True)
    ]
    return Check(feed.layers, tuple(differences), EXACT)


def _nearest(weights: Tensor) -> Tensor:
    """The last K of (H, T), nearest first; 0 where the model holds no key."""
    nearest = weights[:, -NUM_BANDS:].flip(-1).cpu()
    return torch.nn.functional.pad(nearest, (0, NUM_BANDS - nearest.shape[-1]))


def _difference(captured: np.ndarray, expected: np.ndarray) -> float:
    same_holes = np.array_equal(np.isnan(captured), np.isnan(expected))
    return float(np.nanmax(np.abs(captured - expected))) if same_holes else float("inf")


def eager_attention(model: PreTrainedModel, ids: Sequence[int], layers: Sequence[int]) -> list[np.ndarray]:
    """Full attention matrices (H, T, T) of these layers: for short texts only."""
    with _eager(model), torch.inference_mode():
        output = model(input_ids=torch.tensor([ids], device=model.device), output_attentions=True, use_cache=False)
    given = [weights for weights in output.attentions or () if weights is not None]
    if len(given) != len(layers):
        message = (
            f"{type(model).__name__} returns the attention of {len(given)} layers, and {len(layers)} were captured, "
            "so the capture cannot be checked."
        )
        raise UnsupportedModel(message)
    return [weights[0].float().cpu().numpy() for weights in given]


def band_of_matrix(matrix: np.ndarray, first_row: int, num_bands: int) -> np.ndarray:
    """Rows from `first_row` of (H, T, T) as a band (H, rows, K): nan before the sequence."""
    rows = np.arange(first_row, matrix.shape[1])
    columns = rows[:, None] - np.arange(num_bands)
    band = matrix[:, rows[:, None], columns.clip(0)]
    return np.where(columns < 0, np.nan, band)


def looks_ahead(logits: Tensor) -> bool:
    """Whether the first position of two sequences that differ only after it has different logits (2, 2, V)."""
    first, second = logits[:, 0].float()
    tolerance = 1e-4 if logits.dtype == torch.float32 else 5e-2
    return not torch.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)


@contextmanager
def _eager(model: PreTrainedModel) -> Iterator[None]:
    configs = {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}
    before = [(config, config._attn_implementation) for config in configs.values()]  # noqa: SLF001
    try:
        for config, _ in before:
            config._attn_implementation = "eager"  # noqa: SLF001 - the setter of the model refuses some architectures
        yield
    finally:
        for config, name in before:
            config._attn_implementation = name  # noqa: SLF001
