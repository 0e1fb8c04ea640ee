"""Pass every attention call of a model to a recorder, which keeps the queries, keys and masks of each layer."""

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rauq.transformers_api import AttentionInterface, PreTrainedModel

Recorder = Callable[[Tensor, Tensor, Tensor | None, Mapping[str, Any]], None]
StatesRecorder = Callable[[Tensor], None]
AttentionFunction = Callable[..., Any]


class Around(NamedTuple):
    """A recorder of the attention of a module that calls it: given the call, its query, keys, mask and options."""

    record: Callable[[Callable[[], Any], Tensor, Tensor, Tensor | None, Mapping[str, Any]], Any]


EAGER = "eager_attention_forward"
_install_lock = threading.Lock()


class _Recorders(threading.local):
    """The recorders of this thread, by attention module or block; generations of other threads never reach them."""

    def __init__(self) -> None:
        self.by_module: Mapping[nn.Module, Recorder | StatesRecorder | Around] = {}


_recorders = _Recorders()


def input_device(model: PreTrainedModel) -> torch.device:
    """Where the embeddings are computed, which is not where their weights are if these are offloaded."""
    embeddings = model.get_input_embeddings()
    offloaded_to = getattr(getattr(embeddings, "_hf_hook", None), "execution_device", None)  # accelerate's
    weight = next(embeddings.parameters())  # PEFT may put a module without a weight of its own around them
    return weight.device if offloaded_to is None else torch.device(offloaded_to)


def attention_modules(model: PreTrainedModel) -> dict[int, nn.Module]:
    """The causal attention modules of the decoder, by absolute layer number; some may never call the interface."""
    decoder = model.get_decoder() or model
    return {
        layer: module
        for module in decoder.modules()
        if isinstance(layer := getattr(module, "layer_idx", None), int)
        and getattr(module, "is_causal", False) is True
        and "ttention" in type(module).__name__
    }


def middle_block(model: PreTrainedModel) -> nn.Module | None:
    """The block of the decoder that floor(L / 2) of its L blocks stand before; None where it has no list of blocks."""
    blocks = blocks_of(model)
    return blocks[len(blocks) // 2] if blocks else None


def blocks_of(model: PreTrainedModel) -> list[nn.Module]:
    """The l blocks of the decoder in order; empty where it has no list of blocks."""
    return list(_list_of_blocks(model) or ())


def _list_of_blocks(model: PreTrainedModel) -> nn.ModuleList | None:
    num_layers = model.config.get_text_config(decoder=True).num_hidden_layers
    parts = (model.get_decoder() or model).modules()  # outer lists come first
    return next((part for part in parts if isinstance(part, nn.ModuleList) and len(part) == num_layers), None)


def modules_of_states(model: PreTrainedModel) -> list[nn.Module]:
    """What gets the hidden states h_k, k < l, as its input, and what owns the blocks: it gives h_l, after its norm.

    Without the owner where that is the whole model with its head, and empty where there is no list of blocks.
    """
    blocks = _list_of_blocks(model)
    if blocks is None:
        return []
    owner = next(part for part in model.modules() if any(child is blocks for child in part.children()))
    return [*blocks, *([] if owner is model else [owner])]


def watch_all_states(model: PreTrainedModel) -> None:
    """Watch every block, and what owns them, from now on; once is enough."""
    blocks = blocks_of(model)
    with _install_lock:
        for module in modules_of_states(model):
            if module in blocks and _note_states not in module._forward_pre_hooks.values():  # noqa: SLF001 - no public list
                module.register_forward_pre_hook(_note_states, with_kwargs=True)
            elif module not in blocks and _note_output not in module._forward_hooks.values():  # noqa: SLF001 - the same
                module.register_forward_hook(_note_output)


def install(model: PreTrainedModel) -> None:
    """Wrap the attention functions that this model can reach, and watch its middle block; once is enough."""
    with _install_lock:
        for name in implementations(model):
            AttentionInterface.register(name, _tapped(AttentionInterface()[name]))
        for module in {sys.modules[type(part).__module__] for part in model.modules()}:
            if hasattr(module, EAGER):
                setattr(module, EAGER, _tapped(getattr(module, EAGER)))
        block = middle_block(model)
        if block is not None and _note_states not in block._forward_pre_hooks.values():  # noqa: SLF001 - no public list
            block.register_forward_pre_hook(_note_states, with_kwargs=True)


@contextmanager
def recording(recorders: Mapping[nn.Module, Recorder | StatesRecorder | Around]) -> Iterator[None]:
    """Pass the attention calls or hidden states of these modules in this thread to their recorders."""
    outer = _recorders.by_module
    _recorders.by_module = recorders
    try:
        yield
    finally:
        _recorders.by_module = outer


def eager_function(module: nn.Module) -> AttentionFunction:
    """The eager attention of this module's model file, as it was before it was wrapped."""
    eager: AttentionFunction = inspect.unwrap(getattr(sys.modules[type(module).__module__], EAGER))
    return eager


def implementations(model: PreTrainedModel) -> set[str]:
    """Names of the registered attention functions that this model uses; eager attention is a function of its file."""
    configs = [part.config for part in model.modules() if isinstance(part, PreTrainedModel)]
    return {name for config in configs if (name := config._attn_implementation) not in {None, "eager"}}  # noqa: SLF001


def _note_states(block: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    record: Any = _recorders.by_module.get(block)
    if record is not None:
        record(args[0] if args else kwargs["hidden_states"])


def _note_output(owner: nn.Module, args: tuple[Any, ...], output: Any) -> None:
    del args
    record: Any = _recorders.by_module.get(owner)
    if record is not None:
        record(output if isinstance(output, Tensor) else output[0])


def _tapped(attend: AttentionFunction) -> AttentionFunction:
    if getattr(attend, "is_tapped", False):
        return attend

    @functools.wraps(attend)
    def tapped(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> Any:
        record: Any = _recorders.by_module.get(module)
        if isinstance(record, Around):
            call = functools.partial(attend, module, query, key, value, attention_mask, **kwargs)
            return record.record(call, query, key, attention_mask, kwargs)
        if record is not None:
            record(query, key, attention_mask, kwargs)
        return attend(module, query, key, value, attention_mask, **kwargs)

    tapped.is_tapped = True  # type: ignore[attr-defined]  # marks the wrapper, so that it is never wrapped again
    return tapped


class Rows(NamedTuple):
    """The queries of one call: how many, their mask (None: causal), and the position of the mask's first key."""

    number: int
    mask: Tensor | None
    first_key: int


class Keys(NamedTuple):
    """Keys (B, H_kv, T, D) of the positions from `start` on."""

    start: int
    tensor: Tensor

    @property
    def end(self) -> int:
        """The position after the last key."""
        return self.start + int(self.tensor.shape[2])


class Pending(NamedTuple):
    """Queries (B, H, n, D) that wait for their weights, the last at `last_position`, and all that makes the weights.

    `keys` are those that they can see, `rows` their masks, `options` the other arguments of the attention call.
    """

    queries: Tensor
    keys: Keys
    rows: list[Rows]
    options: Mapping[str, Any]
    last_position: int


@dataclass(eq=False)
class Step:
    """How many tokens were run, how many of them are wanted as rows, and where they end.

    The mask rows cut for one layer serve all layers of its kind. Positions are counted here and not in the layers,
    since layers that share keys may skip tokens of the prompt.
    """

    tail: int = 1
    fed: int = 0
    end: int = 0
    mask: Tensor | None = None
    mask_rows: Tensor | None = None

    def begin(self, tail: int, num_new: int) -> None:
        """Go on to the next tokens, and forget the masks of those before."""
        self.tail, self.fed, self.mask, self.mask_rows = tail, num_new, None, None
        self.end += num_new

    def cut(self, mask: Tensor | None) -> Tensor | None:
        """The last `tail` rows of a mask, copied: a view would keep the T x T mask alive."""
        if mask is None or mask.shape[2] <= self.tail:
            return mask
        if mask is not self.mask:
            self.mask, self.mask_rows = mask, mask[:, :, -self.tail :].clone()
        return self.mask_rows


class LayerRecord:
    """The pending rows of one layer, and the keys that they need."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.seen = 0
        self.queries: list[Tensor] = []
        self.rows: list[Rows] = []
        self.evicted: list[Keys] = []
        self.keys: Keys | None = None
        self.cache: Any = None
        self.options: Mapping[str, Any] = {}

    def __call__(self, query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> None:
        """Note one call of the attention function; see `rauq.capture.tap.Recorder`."""
        num_queries = query.shape[2]
        self.seen = self.step.end
        if num_queries > self.step.tail:
            query = query[:, :, -self.step.tail :].clone()  # a view would keep the queries of the whole prompt
        if num_queries > 1:
            mask = self.step.cut(mask)
        first_key = self.seen - key.shape[2]
        self.queries.append(query)
        self.rows.append(Rows(query.shape[2], mask, first_key))
        self.options = options
        if self.cache is None:
            if first_key > 0:
                self._keep_evicted(first_key, key.shape[2])
            self.keys = Keys(first_key, key)

    def rely_on(self, cache: Any) -> None:
        """Keep no keys here where the cache keeps all of this layer: a key kept one step longer fragments the heap."""
        if self.keys is not None and cache.keys is self.keys.tensor:
            self.cache, self.keys = cache, None

    def _keep_evicted(self, first_key: int, window: int) -> None:
        """Keep the last keys that this step no longer sees, where a pending row needs them: once in a window."""
        previous = self.keys
        if previous is None or (self.evicted and first_key <= self.evicted[-1].end):
            return
        needed = window + self.pending
        if previous.tensor.shape[2] > 2 * needed:
            previous = Keys(previous.end - needed, previous.tensor[:, :, -needed:].clone())
        self.evicted.append(previous)

    @property
    def pending(self) -> int:
        """Rows recorded since the last `take`."""
        return sum(rows.number for rows in self.rows)

    def latest(self) -> tuple[Tensor, Tensor, Tensor | None, Mapping[str, Any]]:
        """The last query (B, H, 1, D) that is pending, with the keys and the mask of its call, and its options."""
        keys = self.cache.keys if self.keys is None else self.keys.tensor
        mask = self.rows[-1].mask
        return self.queries[-1][:, :, -1:], keys, None if mask is None else mask[:, :, -1:], self.options

    def take(self) -> Pending:
        """The pending rows, which the record forgets."""
        last = self.keys if self.cache is None else Keys(0, self.cache.keys)
        assert last is not None  # noqa: S101 - only called on layers that recorded
        keys, queries = _stitched([*self.evicted, last]), torch.cat(self.queries, dim=2)
        taken = Pending(queries, keys, self.rows, self.options, self.seen - 1)
        self.queries, self.rows, self.evicted = [], [], []
        return taken

    def repeat(self, times: int) -> None:
        """Follow a batch that was repeated `times` times, after `take`."""
        if self.keys is not None:
            self.keys = Keys(self.keys.start, self.keys.tensor.repeat_interleave(times, dim=0))


def _stitched(parts: list[Keys]) -> Keys:
    """One run of keys from overlapping ones; what lies before a gap is older than any pending row can see."""
    joined = parts[-1]
    for part in reversed(parts[:-1]):
        if part.end < joined.start:
            break
        missing = part.tensor[:, :, : joined.start - part.start]
        joined = Keys(part.start, torch.cat([missing, joined.tensor], dim=2)) if part.start < joined.start else joined
    return joined
