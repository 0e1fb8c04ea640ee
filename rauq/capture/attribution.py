"""Layer Integrated Gradients (LIG) at the attention output projections, as weights in place of attention (Table 20).

The paper says where the attributions are made, that they are cut into one segment a head, and no more; its public code
attributes something else, so its Table 20 cannot be reproduced. All of the following is this project's choice:

- F_i = log p(y_i) from the raw logits, for the answer tokens after the first. One layer l at a time: the attention
  output z (T, d) of its block, before the residual sum, runs along s z for s from 0 to 1, at all positions at once. The
  blocks below stay as they are, and those above are run again. Where a norm stands between the projection and the
  residual sum (Gemma 2 and 3, OLMo 2), z is taken after it: before it, scaling z changes nothing.
- A[h, i, t] = the sum, over the columns of segment h, of z_t times the integral of dF_i / dz_t (s z), by
  Gauss-Legendre. Segment h has the columns from h d / H to (h + 1) d / H: equal, or within one of it.
- w[h, i] = |A[h, i, t]| at the position t of y_{i-1}, divided by the sum of |A[h, i, .]| over all positions up to t,
  the prompt's too, plus 1e-12: the diagonal that attention has in alignment "predicting".

A mixture of experts switches experts along the path: F jumps there, and the completeness error includes the jump.
In the last block each F_i depends on z at one position alone, so all weights would be 1. The same holds where all
layers above share the keys of layers below (Gemma 4). Such layers are refused.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rauq.capture.tap import attention_modules
from rauq.errors import UnsupportedModel
from rauq.trace.attribution import Side
from rauq.transformers_api import PreTrainedModel

_PROJECTIONS = ("o_proj", "out_proj", "c_proj", "dense", "wo")  # what the models of transformers call it
_SMALLEST = 1e-12  # of a sum of attributions
_BYTES = 1 << 30  # of logits, and of what a pass keeps for going back, for the steps that run as one batch
_FLOATS_KEPT = 30  # for each of d columns of a token in a block, about

OnPass = Callable[[], object]


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """The token ids of one answer, of which the first N - 1 are fed after the M of the prompt: (T,), T = M + N - 1."""

    fed: Tensor
    targets: Tensor  # (N - 1,): the answer's tokens after the first

    @property
    def num_targets(self) -> int:
        """How many tokens of the answer have a previous one: N - 1."""
        return len(self.targets)


class Site(NamedTuple):
    """Where a layer is attributed: `side` of `module`, whose recorded states are z (1, T, d)."""

    module: nn.Module
    side: Side
    states: Tensor


class Attributed(NamedTuple):
    """Weights (H, N - 1) of one layer, and the completeness error of each of the N - 1 tokens, in nats."""

    weights: np.ndarray
    errors: np.ndarray


def answer_of(prompt_ids: np.ndarray, answer_ids: np.ndarray, device: torch.device) -> Answer:
    """The ids of a trace, on the device of the model."""
    ids = torch.tensor(np.concatenate([prompt_ids, answer_ids]), dtype=torch.long, device=device)
    return Answer(fed=ids[:-1], targets=ids[len(prompt_ids) + 1 :])


def attribute_layer(
    model: PreTrainedModel, answer: Answer, site: Site, *, num_heads: int, steps: int, positive: bool, on_pass: OnPass
) -> Attributed:
    """Attribute one layer; `on_pass` is called before each of the `num_passes` backward passes.

    Raises:
        UnsupportedModel: the model cannot be differentiated, as one with quantised weights, or all weights would be 1.
    """
    with _frozen(model):
        changed = _added_by(model, answer, site)
        found = _integrated(model, answer, site, num_heads=num_heads, steps=steps, on_pass=on_pass)  # (N - 1, H, T)
    errors = (found.sum(dim=(1, 2)) - changed).abs()
    sizes = found.clamp(min=0) if positive else found.abs()
    tokens = torch.arange(answer.num_targets, device=found.device)
    previous = len(answer.fed) - answer.num_targets + tokens  # the position of the token before each
    weights = sizes[tokens, :, previous] / (sizes.sum(dim=2) + _SMALLEST)  # (N - 1, H)
    return Attributed(weights.T.float().cpu().numpy(), errors.cpu().numpy())


def num_passes(model: PreTrainedModel, answer: Answer, *, steps: int) -> int:
    """How many backward passes `attribute_layer` makes: for each token one for each batch of steps."""
    return answer.num_targets * len(_batches(model, answer, steps))


def _integrated(
    model: PreTrainedModel, answer: Answer, site: Site, *, num_heads: int, steps: int, on_pass: OnPass
) -> Tensor:
    """A (N - 1, H, T): attributions of each token's log-probability to the segments at each position."""
    states = site.states[0].float()  # (T, d)
    segment = torch.arange(states.shape[1], device=states.device) * num_heads // states.shape[1]  # of each column
    total = states.new_zeros(answer.num_targets, num_heads, len(states))
    for points, shares in _batches(model, answer, steps):
        path = _path(site, points).requires_grad_()
        with _replaced(site, path):
            log_probabilities = _log_probabilities(model, answer, copies=len(points))
        for token in range(answer.num_targets):
            on_pass()
            slope = _slope(log_probabilities, path, token, last=token == answer.num_targets - 1)
            _refuse_one_position(model, slope, len(states) - answer.num_targets + token)
            mean = torch.einsum("s,std->td", shares.to(slope), slope) * states
            total[token].T.index_add_(1, segment, mean)
    return total


def _refuse_one_position(model: PreTrainedModel, slope: Tensor, position: int) -> None:
    """Refuse a layer whose output later positions never read: the last block, or one below layers with shared keys."""
    if not slope[:, :position].any():
        message = (
            f"No position of {type(model).__name__} reads what this layer gives at an earlier one, so all weights "
            "would be 1: it is the last block, or the layers above share the keys of layers below. Name lower layers."
        )
        raise UnsupportedModel(message)


def _batches(model: PreTrainedModel, answer: Answer, steps: int) -> list[tuple[Tensor, Tensor]]:
    """Points of the integral from 0 to 1 and their shares, by Gauss-Legendre, in batches that fit into memory."""
    config = model.config.get_text_config(decoder=True)
    kept = len(answer.fed) * config.num_hidden_layers * config.hidden_size * _FLOATS_KEPT
    size = max(1, _BYTES // (4 * (kept + 3 * answer.num_targets * config.vocab_size)))
    points, shares = np.polynomial.legendre.leggauss(steps)
    halves = (torch.tensor((points + 1) / 2).split(size), torch.tensor(shares / 2).split(size))
    return list(zip(*halves, strict=True))


def _path(site: Site, points: Tensor) -> Tensor:
    """The states s z (S, T, d) for these points s (S,)."""
    return (points.to(site.states)[:, None, None] * site.states).detach()


def _added_by(model: PreTrainedModel, answer: Answer, site: Site) -> Tensor:
    """F_i(1) - F_i(0) of each token, (N - 1,)."""
    with torch.no_grad(), _replaced(site, _path(site, torch.tensor([0.0, 1.0]))):
        ends = _log_probabilities(model, answer, copies=2).values
    return ends[1] - ends[0]


class _LogProbabilities(NamedTuple):
    """F (S, N - 1) in nats, the states before the head (S, N - 1, d) and the gradient of each F_i by its own state."""

    values: Tensor
    states: Tensor
    gradients: Tensor


def _log_probabilities(model: PreTrainedModel, answer: Answer, *, copies: int) -> _LogProbabilities:
    """Run S copies of the answer as one batch.

    F_i depends on one state before the head alone, so one matrix product gives the gradients of all of them, and each
    backward pass starts at these states, without the head.
    """
    seen: list[Tensor] = []

    def cut(_head: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        states = args[0][:, -answer.num_targets :]
        leaf = states.detach().requires_grad_(torch.is_grad_enabled())
        seen.extend((states, leaf))
        return (leaf, *args[1:])

    with _hooked(_head_of(model).register_forward_pre_hook(cut)):
        output = model(input_ids=answer.fed.expand(copies, -1), use_cache=False, return_dict=True)
    logprobs = output.logits[:, -answer.num_targets :].float().log_softmax(dim=-1)
    values = logprobs.gather(2, answer.targets.expand(copies, -1)[..., None])[..., 0]
    states, leaf = seen
    if not torch.is_grad_enabled():
        return _LogProbabilities(values, states, states)
    if not states.requires_grad or not values.requires_grad:
        message = (
            f"{type(model).__name__} gives no gradients, so nothing can be attributed: its weights may be quantised "
            "for the computation. Load it in float32."
        )
        raise UnsupportedModel(message)
    (gradients,) = torch.autograd.grad(values.sum(), leaf)
    return _LogProbabilities(values.detach(), states, gradients)


def _slope(log_probabilities: _LogProbabilities, path: Tensor, token: int, *, last: bool) -> Tensor:
    """The gradient (S, T, d) of one token's log-probability along the path; after the `last` one the graph is freed."""
    start = torch.zeros_like(log_probabilities.states)
    start[:, token] = log_probabilities.gradients[:, token]
    (slope,) = torch.autograd.grad(log_probabilities.states, path, start, retain_graph=not last)
    return slope.float()


def _head_of(model: PreTrainedModel) -> nn.Module:
    head: nn.Module | None = model.get_output_embeddings()
    if head is None:
        message = f"{type(model).__name__} has no output embeddings, so its log-probabilities cannot be attributed."
        raise UnsupportedModel(message)
    return head


@contextmanager
def _hooked(*handles: Any) -> Iterator[None]:
    """Remove these hooks at the end."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _frozen(model: PreTrainedModel) -> Iterator[None]:
    """Take gradients by states alone: the parameters need none."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        for parameter in trained:
            parameter.requires_grad = False
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad = True


@contextmanager
def _replaced(site: Site, path: Tensor) -> Iterator[None]:
    if site.side == "output":
        handle = site.module.register_forward_hook(lambda _module, _args, _output: path)
    else:
        handle = site.module.register_forward_pre_hook(lambda _module, args: (path, *args[1:]))
    with _hooked(handle):
        yield


class _Block(NamedTuple):
    """An attention module, its output projection, and the block that both are in."""

    attention: nn.Module
    projection: nn.Module
    block: nn.Module


class Read(NamedTuple):
    """An answer as it was read: the site of each layer, and the log-probabilities (N - 1,) of its later tokens."""

    sites: Mapping[int, Site]
    logprobs: np.ndarray


def read(model: PreTrainedModel, answer: Answer, layers: Sequence[int], *, side: Side) -> Read:
    """Where each of these layers is attributed, and what is there when this answer is read.

    Raises:
        UnsupportedModel: the structure of a block is unknown, or `side` is "input" and a norm follows the projection.
    """
    blocks = {layer: _block(model, layer) for layer in layers}
    noted: dict[nn.Module, _Noted] = {}
    handles = [_note(module, noted) for block in blocks.values() for module in _watched(block)]
    with torch.no_grad(), _hooked(*handles):
        values = _log_probabilities(model, answer, copies=1).values[0]
    sites = {layer: _site(model, layer, block, noted, side) for layer, block in blocks.items()}
    return Read(sites, values.cpu().numpy())


class _Noted(NamedTuple):
    """What went into a module and came out of it."""

    given: Any
    output: Any


def _watched(block: _Block) -> list[nn.Module]:
    return [block.projection, block.attention, *(part for part in block.block.children() if part != block.attention)]


def _note(module: nn.Module, noted: dict[nn.Module, _Noted]) -> Any:
    def note(_module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        noted[module] = _Noted(args[0] if args else None, first)

    return module.register_forward_hook(note)


def _block(model: PreTrainedModel, layer: int) -> _Block:
    attention = attention_modules(model).get(layer)
    projection = next((getattr(attention, name) for name in _PROJECTIONS if hasattr(attention, name)), None)
    if attention is None or not isinstance(projection, nn.Module):
        raise _unknown(model, layer, f"no attention with one of {', '.join(_PROJECTIONS)} was found")
    place = next(name for name, module in model.named_modules() if module is attention)
    return _Block(attention, projection, model.get_submodule(place.rpartition(".")[0]))


def _site(model: PreTrainedModel, layer: int, block: _Block, noted: Mapping[nn.Module, _Noted], side: Side) -> Site:
    """The projection itself, or the norm that takes the attention's output before the residual sum."""
    if block.projection not in noted or block.attention not in noted:
        raise _unknown(model, layer, "its attention was not called")
    output = noted[block.attention].output
    after = [part for part in _watched(block)[2:] if part in noted and noted[part].given is output]
    norms = [part for part in after if not torch.equal(noted[part].output, output)]  # dropout changes nothing here
    if norms and side == "input":
        message = (
            f"side='input' attributes nothing in {type(model).__name__}: a norm follows the output projection, so "
            "scaling the projection's input changes nothing. Use side='output', which is taken after that norm."
        )
        raise UnsupportedModel(message)
    module = norms[0] if norms else block.projection
    states = noted[module].output if side == "output" else noted[module].given
    if not isinstance(states, Tensor) or states.ndim != 3 or states.shape[0] != 1:
        raise _unknown(model, layer, "its output projection does not give one state per token")
    return Site(module, side, states)


def _unknown(model: PreTrainedModel, layer: int, why: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"Layer {layer} of {type(model).__name__} cannot be attributed: {why}. Choose another model, or attention."
    )


def completeness(errors: Sequence[np.ndarray]) -> tuple[float, float]:
    """Median and maximum (nats) of the errors of all layers and tokens; nan where there are none, or one is nan."""
    joined = np.concatenate([np.zeros(0), *errors])
    return (float(np.median(joined)), float(joined.max())) if joined.size else (math.nan, math.nan)
