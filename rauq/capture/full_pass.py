"""One pass over a whole text, without a cache: every row and column has one meaning, and no token sees a later one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from rauq.errors import UnsupportedModel
from rauq.trace import NUM_BANDS

_ROUNDING = 1e-5  # mean difference too small to tell positions apart, as in uniform attention
_SAFETY = 4  # factor between the rounding error of one call and that of several layers


def attention_matrices(model: PreTrainedModel, ids: Sequence[int], layers: Sequence[int]) -> list[np.ndarray]:
    """Full attention matrices (H, T, T) of these layers: for short texts only."""
    with eager(model), torch.inference_mode():
        output = model(input_ids=torch.tensor([ids], device=model.device), output_attentions=True, use_cache=False)
    given = [weights for weights in output.attentions or () if weights is not None]
    if len(given) != len(layers):
        message = (
            f"{type(model).__name__} returns the attention of {len(given)} layers, and {len(layers)} were captured, "
            "so the capture cannot be checked."
        )
        raise UnsupportedModel(message)
    return [weights[0].float().cpu().numpy() for weights in given]


def own_drifts(model: PreTrainedModel, ids: Sequence[int], matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    """How far the weights (H, T/2, T/2) of the first half of the ids move with the second half in the same pass.

    `matrices` (H, T, T) are those of all ids, one a layer. In a causal model only rounding moves them, unless what a
    token gets depends on the others of its pass, as dynamically quantised activations do by their common scale. Neither
    a cache nor a capture takes part, so neither can be at fault.
    """
    half = max(1, len(ids) // 2)
    alone = attention_matrices(model, ids[:half], range(len(matrices)))
    return [np.abs(short - whole[:, :half, :half]) for short, whole in zip(alone, matrices, strict=True)]


def differ_by_themselves(drifts: Sequence[np.ndarray], noise: Sequence[float]) -> bool:
    """Whether passes of the model move its weights further, on average in any layer, than rounding does.

    `drifts` are those of `own_drifts`, and `noise` (L,) is that of `misplaced`.
    """
    return any(
        float(moved.mean()) > max(_ROUNDING, _SAFETY * rounding) for moved, rounding in zip(drifts, noise, strict=True)
    )


def band_of_matrix(matrix: np.ndarray, first_row: int) -> np.ndarray:
    """Rows from `first_row` of (H, T, T) as a band (H, rows, K): nan before the sequence."""
    rows = np.arange(first_row, matrix.shape[1])
    columns = rows[:, None] - np.arange(NUM_BANDS)
    band = matrix[:, rows[:, None], columns.clip(0)]
    return np.where(columns < 0, np.nan, band)


def misplaced(band: np.ndarray, matrices: Sequence[np.ndarray], noise: Sequence[float]) -> str:
    """What is wrong where a layer of the band (L, H, n, K) is nearer to other positions of the full matrices; or "".

    The matrices (H, T, T) come from one pass without a cache, where every row and column has one meaning. Means are
    compared, since rounding changes single weights, and a misplaced key or row changes most of them. `noise` (L,) is
    the mean error of eager attention in the model's precision: in bfloat16 with scores of 500 it exceeds the difference
    between positions.
    """
    num_rows = band.shape[2]
    for layer, (captured, matrix) in enumerate(zip(band, matrices, strict=True)):
        first = matrix.shape[1] - num_rows
        own = mean_difference(captured, band_of_matrix(matrix, first))
        next_key = np.where(np.isnan(captured), np.nan, np.roll(band_of_matrix(matrix, first), 1, axis=-1))
        others = [mean_difference(captured, next_key)]
        if first > 0:
            others.append(mean_difference(captured, band_of_matrix(matrix, first - 1)[:, :num_rows]))
        if not own <= max(_ROUNDING, _SAFETY * noise[layer], min(others) / 2):
            return (
                f"the weights of captured layer {layer} (counted from 0) are at other positions than in one full pass"
            )
    return ""


def mean_difference(captured: np.ndarray, expected: np.ndarray) -> float:
    """Mean absolute difference where neither is nan."""
    return float(np.nanmean(np.abs(captured - expected)))


@contextmanager
def eager(model: PreTrainedModel) -> Iterator[None]:
    """Let the model compute its attention with the eager function of its model file."""
    configs = {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}
    before = [(config, config._attn_implementation) for config in configs.values()]  # noqa: SLF001
    try:
        for config, _ in before:
            config._attn_implementation = "eager"  # noqa: SLF001 - the setter of the model refuses some architectures
        yield
    finally:
        for config, name in before:
            config._attn_implementation = name  # noqa: SLF001


def looks_ahead(logits: Tensor) -> bool:
    """Whether the first position of two sequences that differ only after it has different logits (2, 2, V)."""
    first, second = logits[:, 0].float()
    tolerance = 1e-4 if logits.dtype == torch.float32 else 5e-2
    return not torch.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)
