"""The check of a capture: against float64 weights of the same queries and keys.

Every captured call is compared with weights recomputed from the inputs of that same call. A full pass over the same
tokens is a second reference, for positions, and for the weights of a model that runs step by step, but only if passes
of the model agree with each other. Dynamically quantised activations share a scale with all tokens of their pass, so
their incremental and full passes differ without an error of the capture; the difference is then reported, not tested.
Whether passes agree is measured without cache and capture (`own_drifts`), so an error of the cache is still found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rauq.capture import tap
from rauq.capture.recompute import (
    FLOOR,
    MOST,
    Call,
    Softmaxes,
    attention_matrices,
    band_of_matrix,
    differ_by_themselves,
    eager,
    mean_difference,
    misplaced,
    nearest,
    own_drifts,
    recomputed,
    softmax_recomputed,
    watching,
)
from rauq.errors import InvalidInput
from rauq.trace.trace import Trace
from rauq.transformers_api import PreTrainedModel

EXACT = 1e-5  # tolerance between steps and one full pass, in float32 and at scores of ordinary size
_ORDINARY_SCORE = 10.0
_RANDOM_TOKENS = 20
_MOST_TOKENS = 1024
_ANSWER_TOKENS = 4
_Answer = Callable[[Sequence[int]], Trace]


@dataclass(frozen=True)
class Check:
    """How far captured attention weights are from float64 ones, per captured layer; all (L,) but `problem`.

    `differences` and `tolerances` are those of one weight in each layer, the one closest to its tolerance (see
    `rauq.capture.recompute.recomputed`). `eager_differences` are those of the model's own eager attention, in its
    precision, from the same float64 weights: they are reported for comparison, not tested; nan for a model that
    runs step by step. `problem` is an error other than the differences, or empty. `pass_differences` are those of the
    captured weights from one full pass, if passes of the model differ from each other: they are not tested, and empty
    for any other model.
    """

    layers: tuple[int, ...]
    differences: tuple[float, ...]
    tolerances: tuple[float, ...]
    eager_differences: tuple[float, ...]
    problem: str = ""
    pass_differences: tuple[float, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether every layer is within its tolerance, and nothing else is wrong."""
        pairs = zip(self.differences, self.tolerances, strict=True)
        return bool(self.layers) and not self.problem and all(found <= tolerated for found, tolerated in pairs)

    @property
    def worst(self) -> int | None:
        """Index in `layers` of the layer whose difference is largest relative to its tolerance; None without layers."""
        ratios = np.array(self.differences) / np.array(self.tolerances)
        return int(ratios.argmax()) if len(ratios) else None

    def __str__(self) -> str:
        if self.worst is None:
            return "NOT exact: no layer was captured"
        found = f"largest difference {self.differences[self.worst]:.1e} (tolerated {self.tolerances[self.worst]:.0e})"
        verdict = "exact" if self.exact else "NOT exact"
        layers = f"{len(self.layers)} layer{'' if len(self.layers) == 1 else 's'}"
        largest = max(self.pass_differences, default=0.0)
        passes = (
            f"incremental and full passes of the model differ by {largest:.1e}, which is not an error of the capture"
            if largest
            else ""
        )
        return "; ".join([f"{verdict}: {layers}, {found}", *filter(None, [self.problem, passes])])


_UNKNOWN = np.array(np.nan)


class _Seen(NamedTuple):
    """One attention call of a pass: rows (H, n, K) over the nearest keys, and inputs of the eager function."""

    weights: np.ndarray  # in float64
    tolerated: np.ndarray
    eager: np.ndarray = _UNKNOWN  # what eager attention gave in the model's precision, in the eager pass
    eager_in_float32: np.ndarray = _UNKNOWN  # and in float32, for the same inputs
    mask: Tensor | None = None
    options: Mapping[str, Any] = MappingProxyType({})


class _Pass(NamedTuple):
    """One observed generation: its trace, and the attention calls of each layer, in order."""

    trace: Trace
    seen: Mapping[int, Sequence[_Seen]]


def check_capture(
    model: PreTrainedModel, ids: Sequence[int] | None, *, generate: Callable[..., Trace], vocab_size: int, tapped: bool
) -> Check:
    """What `LanguageModel.check` finds for these prompt tokens, or for seeded random ones below `vocab_size`.

    `generate` is `LanguageModel.generate` of this model, and `tapped` whether its attention calls are recorded.

    Raises:
        InvalidInput: too many of them for eager attention.
        UnsupportedModel: the model does not return its attention.
    """
    if ids is None:
        ids = np.random.default_rng(0).integers(vocab_size, size=_RANDOM_TOKENS).tolist()
    if len(ids) > _MOST_TOKENS:
        message = f"Eager attention is quadratic: check up to {_MOST_TOKENS} tokens, not {len(ids)}."
        raise InvalidInput(message)
    answer = partial(generate, max_new_tokens=_ANSWER_TOKENS, stop=(), last_row=True)
    return _check_tapped(model, ids, answer) if tapped else _check_stepwise(model, ids, answer)


def _check_tapped(model: PreTrainedModel, ids: Sequence[int], answer: _Answer) -> Check:
    """Observe the model generating with eager attention, then with the implementation that it uses.

    Both traces have to hold the weights that are recomputed in float64, from the queries and keys of that generation
    and from the mask, scaling, softcap and sinks that the eager function received. The two generations are never
    compared with each other, since rounding errors grow differently in each. Positions are compared with one full pass,
    unless passes of the model differ from each other.
    """
    with eager(model):
        first = _observed(model, ids, answer)
    passes = [first, _observed(model, ids, answer, eager_pass=first)] if tap.implementations(model) else [first]
    layers = first.trace.layers
    differences, tolerances = zip(*(_closest(layer, passes) for layer in layers), strict=True)
    noise = [max(mean_difference(one.eager, one.weights) for one in first.seen[layer]) for layer in layers]
    matrices = _one_pass(model, first.trace)
    comparable = not differ_by_themselves(own_drifts(model, _tokens(first.trace), matrices), noise)
    return Check(
        layers=layers,
        differences=differences,
        tolerances=tolerances,
        eager_differences=tuple(
            max(_difference(one.eager, one.weights) for one in first.seen[layer]) for layer in layers
        ),
        problem=_unknown_part(first) or (misplaced(first.trace.attention, matrices, noise) if comparable else ""),
        pass_differences=() if comparable else _from_full_pass(first.trace, matrices),
    )


def _check_stepwise(model: PreTrainedModel, ids: Sequence[int], answer: _Answer) -> Check:
    """Compare the trace of a model that runs step by step with one eager pass over the same tokens.

    Such a model returns its own weights; there are no queries and keys to recompute them from. Rounding differs between
    the two, in proportion to the scores: 1e-5 is tolerated in float32 (2e-2 in lower precision) up to scores of 10, and
    in proportion beyond. The weights also have to be nearer to their own positions in that pass than to any other.
    Where passes of the model differ from each other by more, the scores of the same steps are the reference instead.
    """
    with Softmaxes() as called:
        trace = answer(ids)
    matrices = _one_pass(model, trace)
    base = EXACT if model.dtype == torch.float32 else MOST
    tolerance = min(1.0, base * max(1.0, called.largest / _ORDINARY_SCORE))
    if any(moved.max() > tolerance for moved in own_drifts(model, _tokens(trace), matrices)):
        return _check_steps(_steps(trace, called, model.dtype), matrices)
    return Check(
        layers=trace.layers,
        differences=_from_full_pass(trace, matrices),
        tolerances=(tolerance,) * len(trace.layers),
        eager_differences=(np.nan,) * len(trace.layers),
        problem=misplaced(trace.attention, matrices, noise=(0.0,) * len(trace.layers)),
    )


def _steps(trace: Trace, called: Softmaxes, dtype: torch.dtype) -> _Pass:
    """The captured rows of each layer, from the scores of the same steps; none where softmax was called otherwise."""
    num_layers, num_rows, end = len(trace.layers), trace.attention.shape[2], len(_tokens(trace))
    scores = called.scores[-num_layers * num_rows :]
    if len(scores) < num_layers * num_rows or scores[-1].shape[-1] != end:
        return _Pass(trace, {})
    seen = []
    for call, entered in enumerate(scores):
        weights, tolerated = softmax_recomputed(entered, dtype)
        fed = end - num_rows + 1 + call // num_layers
        seen.append(_Seen(nearest(weights, end=fed).numpy(), nearest(tolerated, end=fed).numpy()))
    return _Pass(trace, {layer: seen[place::num_layers] for place, layer in enumerate(trace.layers)})


def _check_steps(steps: _Pass, matrices: Sequence[np.ndarray]) -> Check:
    """Compare the trace of a model that runs step by step with float64 softmaxes of the scores of those steps."""
    layers = steps.trace.layers
    differences, tolerances = zip(*(_closest(layer, [steps]) for layer in layers), strict=True)
    return Check(
        layers=layers,
        differences=differences,
        tolerances=tolerances,
        eager_differences=(np.nan,) * len(layers),
        pass_differences=_from_full_pass(steps.trace, matrices),
    )


def _from_full_pass(trace: Trace, matrices: Sequence[np.ndarray]) -> tuple[float, ...]:
    """The largest difference (L,) of captured weights from those of one full pass."""
    expected = [band_of_matrix(matrix, len(trace.prompt_ids) - 1) for matrix in matrices]
    return tuple(map(_difference, trace.attention, expected))


def _one_pass(model: PreTrainedModel, trace: Trace) -> list[np.ndarray]:
    return attention_matrices(model, _tokens(trace), trace.layers)


def _tokens(trace: Trace) -> list[int]:
    return [*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()]


def _observed(model: PreTrainedModel, ids: Sequence[int], answer: _Answer, *, eager_pass: _Pass | None = None) -> _Pass:
    """Observe a generation; mask, scaling, softcap and sinks are those of the eager pass, or its own without one.

    One of the two may end earlier: calls that the eager pass does not have are left out.
    """
    layer_of = {module: layer for layer, module in tap.attention_modules(model).items()}
    seen: dict[int, list[_Seen]] = {}

    def note(call: Call) -> None:
        if (layer := layer_of.get(call.module)) is None:
            return
        of_layer = seen.setdefault(layer, [])
        if eager_pass is not None:
            if len(of_layer) == len(eager_pass.seen[layer]):
                return
            same = eager_pass.seen[layer][len(of_layer)]
            call = call._replace(mask=same.mask, options=same.options)
        of_layer.append(_seen(call, end=len(ids) + len(of_layer), is_eager=eager_pass is None))

    with watching(model, note):
        trace = answer(ids)
    return _Pass(trace, seen)


def _seen(call: Call, *, end: int, is_eager: bool) -> _Seen:
    """The last query of a call: the only one of the prompt that is captured, and the only one of each step."""
    mask = None if call.mask is None else call.mask[:, :, -1:].clone()
    call = call._replace(query=call.query[:, :, -1:], mask=mask)
    matrices = [*recomputed(call)]
    if is_eager:
        matrices += [call.result[1][0, :, -1:].cpu().double(), _in_float32(call)[0].cpu().double()]
    weights, tolerated, *own = np.split(nearest(torch.cat(matrices), end=end).numpy(), len(matrices))
    eager_rows, in_float32 = own or (_UNKNOWN, _UNKNOWN)
    return _Seen(weights, tolerated, eager_rows, in_float32, mask, call.options)


def _in_float32(call: Call) -> Tensor:
    """The weights (1, H, n, T) that the model's own eager function gives for the same inputs in float32."""
    query, key = call.query.float(), call.key.float()
    mask = call.mask if call.mask is None or call.mask.dtype == torch.bool else call.mask.float()
    weights: Tensor = tap.eager_function(call.module)(call.module, query, key, key, mask, **call.options)[1]
    return weights


def _closest(layer: int, passes: Sequence[_Pass]) -> tuple[float, float]:
    """Difference and tolerance of that weight of one layer, in any of the passes, that is closest to its tolerance."""
    pairs = []
    for one in passes:
        if layer not in one.trace.layers or not one.seen.get(layer):
            return float("inf"), MOST
        expected = np.concatenate([seen.weights for seen in one.seen[layer]], axis=1)
        tolerated = np.maximum(np.concatenate([seen.tolerated for seen in one.seen[layer]], axis=1), FLOOR)
        captured = one.trace.attention[one.trace.layers.index(layer)][:, : expected.shape[1]]
        expected, tolerated = expected[:, : captured.shape[1]], tolerated[:, : captured.shape[1]]
        if not np.array_equal(np.isnan(captured), np.isnan(expected)):
            return float("inf"), MOST
        differences = np.abs(captured - expected)
        place = np.nanargmax(differences / tolerated)
        pairs.append((float(differences.flat[place]), float(tolerated.flat[place])))
    return max(pairs, key=lambda pair: pair[0] / pair[1])


def _unknown_part(first: _Pass) -> str:
    """The error if the recomputed weights are not the model's, since its eager function adds a term; or ""."""
    for layer, seen in first.seen.items():
        for one in seen:
            if np.any(abs(one.eager_in_float32 - one.weights) > one.tolerated):
                off = _difference(one.eager_in_float32, one.weights)
                return (
                    f"eager attention in float32 differs by {off:.1e} in layer {layer} from weights recomputed from "
                    "query, key, mask, softcap and sinks, so it has a part that is not captured"
                )
    return ""


def _difference(captured: np.ndarray, expected: np.ndarray) -> float:
    same_holes = np.array_equal(np.isnan(captured), np.isnan(expected))
    return float(np.nanmax(np.abs(captured - expected))) if same_holes else float("inf")
