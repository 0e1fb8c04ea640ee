"""Attention weights in float64, from the inputs of the model's own attention functions, with bounds on rounding."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rauq.capture import tap
from rauq.errors import UnsupportedModel
from rauq.trace.trace import NUM_BANDS
from rauq.transformers_api import AttentionInterface, PreTrainedModel

_ROUNDING = 1e-5  # mean difference too small to tell positions apart, as in uniform attention
_SAFETY = 4  # factor between the rounding error of one call and that of several layers


def attention_matrices(model: PreTrainedModel, ids: Sequence[int], layers: Sequence[int]) -> list[np.ndarray]:
    """Full attention matrices (H, T, T) of these layers: for short texts only."""
    with eager(model), torch.inference_mode():
        output = model(
            input_ids=torch.tensor([ids], device=tap.input_device(model)), output_attentions=True, use_cache=False
        )
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
    a cache nor a capture takes part, so neither can cause it.
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


def band_of_matrix(matrix: np.ndarray, first_row: int, *, offsets: int = NUM_BANDS) -> np.ndarray:
    """Rows from `first_row` of (H, T, T) as a band (H, rows, K), K = `offsets`: nan before the sequence."""
    rows = np.arange(first_row, matrix.shape[1])
    columns = rows[:, None] - np.arange(offsets)
    band = matrix[:, rows[:, None], columns.clip(0)]
    return np.where(columns < 0, np.nan, band)


def misplaced(band: np.ndarray, matrices: Sequence[np.ndarray], noise: Sequence[float]) -> str:
    """The error if a layer of the band (L, H, n, K) is nearer to other positions of the full matrices; or "".

    The matrices (H, T, T) come from one pass without a cache, so the position of every row and column is known. Means
    are compared, since rounding changes single weights, and a misplaced key or row changes most of them. `noise` (L,)
    is the mean error of eager attention in the model's precision: in bfloat16 with scores of 500 it exceeds the
    difference between positions.
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


def attends_to_later_tokens(logits: Tensor) -> bool:
    """Whether the first position of two sequences that differ only after it has different logits (2, 2, V)."""
    first, second = logits[:, 0].float()
    tolerance = 1e-4 if logits.dtype == torch.float32 else 5e-2
    return not torch.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)


ROUNDING = 2.0**-24  # unit roundoff of float32, in which every band is computed
FLOOR = 1e-6  # a difference of a weight that is too small to be visible in a figure
MOST = 2e-2  # never tolerated, whatever the scores are

_MASKED = -32_752  # half of float16's minimum: models mask with that or less
_SOFTMAX_ROUNDINGS = 128  # exponentials, their sum and the division: relative to the weight
_one_at_a_time = threading.Lock()  # the functions are swapped for all threads, and put back in order


class Call(NamedTuple):
    """One attention call: queries (1, H, n, D), keys (1, H_kv, T, D), mask, the other arguments, and the result."""

    module: nn.Module
    query: Tensor
    key: Tensor
    mask: Tensor | None
    options: Mapping[str, Any]
    result: Any


@contextmanager
def watching(model: PreTrainedModel, note: Callable[[Call], None]) -> Iterator[None]:
    """Call `note` after every attention call that this thread makes in this model."""
    modules, thread = set(model.modules()), threading.get_ident()
    files = [file for file in {sys.modules[type(part).__module__] for part in modules} if hasattr(file, tap.EAGER)]
    names = tap.implementations(model)

    def watched(attend: tap.AttentionFunction) -> tap.AttentionFunction:
        @functools.wraps(attend)
        def watcher(
            module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
        ) -> Any:
            result = attend(module, query, key, value, attention_mask, **kwargs)
            if module in modules and threading.get_ident() == thread:
                note(Call(module, query, key, attention_mask, kwargs, result))
            return result

        return watcher

    with _one_at_a_time:
        eager = [(file, getattr(file, tap.EAGER)) for file in files]
        named = [(name, AttentionInterface()[name]) for name in names]
        try:
            for file, attend in eager:
                setattr(file, tap.EAGER, watched(attend))
            for name, attend in named:
                AttentionInterface.register(name, watched(attend))
            yield
        finally:
            for file, attend in eager:
                setattr(file, tap.EAGER, attend)
            for name, attend in named:
                AttentionInterface.register(name, attend)


class Softmaxes(TorchFunctionMode):
    """What entered softmax: the largest score, in absolute value and without masked ones, and the scores of each query.

    Only a call for one query of one sequence, (1, H, 1, T), is kept, as when a model runs step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0.0
        self.scores: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in {torch.softmax, torch.Tensor.softmax, nn.functional.softmax} and args:
            scores = args[0]
            visible = scores[scores > _MASKED]
            if visible.numel():
                self.largest = max(self.largest, float(visible.abs().max()))
            if scores.ndim == 4 and scores.shape[0] == scores.shape[2] == 1:
                self.scores.append(scores[0].detach().clone())
        return func(*args, **(kwargs or {}))


def recomputed(call: Call) -> tuple[Tensor, Tensor]:
    """The weights (H, n, T) of a call, in float64 on the CPU, and how far each may be off in float32.

    score = query . key * scaling, softcap, mask, softmax with the sink in its normaliser.

    What is tolerated follows from float32 arithmetic on the same inputs. A score of D products carries an error of at
    most e_j = (D + 4) u sum_d |q_d k_jd| |scaling|, with u = 2^-24, in whatever order they are added (Higham, Accuracy
    and Stability of Numerical Algorithms, section 3.1); softcap does not enlarge it, a mask that is a bias adds u times
    its size. To first order softmax moves weight w_k by w_k (d_k - sum_j w_j d_j), hence by at most
    w_k ((1 - w_k) e_k + sum_{j != k} w_j e_j), times exp(2 max e) for the higher orders; 128 u w_k covers the rounding
    of exponentials, sum and division.
    """
    query, key = _double(call.query[0]), _double(call.key[0])
    width = query.shape[-1]
    key = key.repeat_interleave(len(query) // key.shape[0], dim=0)
    scaling = call.options.get("scaling")
    scaling = width**-0.5 if scaling is None else float(scaling)
    scores = query @ key.transpose(1, 2) * scaling
    errors = query.abs() @ key.abs().transpose(1, 2) * abs(scaling) * (width + 4) * ROUNDING
    if (softcap := call.options.get("softcap")) is not None:
        scores = softcap * torch.tanh(scores / softcap)
        errors += 4 * ROUNDING * softcap
    if call.mask is not None:
        bias = _bias(call.mask[0, :, :, : key.shape[1]])
        scores = scores + bias
        errors += ROUNDING * bias.abs().where(bias.isfinite(), 0.0)
    weights = _softmax(scores, call.options.get("s_aux"))
    return weights, _tolerated(weights, errors)


def softmax_recomputed(scores: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Softmax (H, n, T) of scores in float64 on the CPU, and how far weights that are returned in `dtype` may be off.

    They are rounded once to that dtype, besides the roundings of a float32 softmax (`recomputed`).
    """
    weights = torch.softmax(_double(scores), dim=-1)
    rounding = _SOFTMAX_ROUNDINGS * ROUNDING + torch.finfo(dtype).eps
    return weights, (rounding * weights + FLOOR).clamp(max=MOST)


def nearest(weights: Tensor, *, end: int) -> Tensor:
    """What the last n queries put on their K nearest keys, (H, n, K) of (H, n, T): 0 where the model holds no key.

    Positions before the sequence are nan; the last query and the last key have position `end - 1`.
    """
    num_rows, num_keys = weights.shape[1:]
    back = torch.arange(NUM_BANDS)
    columns = num_keys - num_rows + torch.arange(num_rows)[:, None] - back  # (n, K)
    chosen = weights.gather(-1, columns.clamp(min=0).expand(len(weights), -1, -1))
    before_sequence = end - num_rows + torch.arange(num_rows)[:, None] < back
    return chosen.masked_fill(columns < 0, 0.0).masked_fill(before_sequence, torch.nan)


def _softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    if sinks is None:
        return torch.softmax(scores, dim=-1)
    column = _double(sinks).view(-1, 1, 1).expand(-1, scores.shape[1], 1)
    return torch.softmax(torch.cat([scores, column], dim=-1), dim=-1)[..., :-1]


def _tolerated(weights: Tensor, errors: Tensor) -> Tensor:
    errors = errors.where(weights > 0, 0.0)
    share = weights * errors
    first_order = weights * (errors + share.sum(dim=-1, keepdim=True) - 2 * share)
    moved = first_order * torch.exp(2 * errors.amax(dim=-1, keepdim=True))
    return (moved + _SOFTMAX_ROUNDINGS * ROUNDING * weights + FLOOR).clamp(max=MOST)


def _bias(mask: Tensor) -> Tensor:
    """What a mask adds to the scores: models write "masked" as False, or as the smallest number of their dtype."""
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask.cpu(), -torch.inf)
    bias = _double(mask)
    return bias.masked_fill(bias <= torch.finfo(mask.dtype).min / 2, -torch.inf)


def _double(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().double()  # to the CPU first: not every device has float64
