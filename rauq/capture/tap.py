"""Hand every attention call of a model to a recorder, while the model computes what it computes anyway.

The functions in use are wrapped in place, once, and a module opts in per thread. A new attention name would change
how masks are built and how some models choose their code; swapping functions on enter and exit would let
overlapping captures undo each other.
"""

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel

Recorder = Callable[[Tensor, Tensor, Tensor | None, Mapping[str, Any]], None]
StatesRecorder = Callable[[Tensor], None]
AttentionFunction = Callable[..., Any]

EAGER = "eager_attention_forward"
_install_lock = threading.Lock()


class _Recorders(threading.local):
    """The recorders of this thread, by attention module or block: another thread's generation never lands in them."""

    def __init__(self) -> None:
        self.by_module: Mapping[nn.Module, Recorder | StatesRecorder] = {}


_recorders = _Recorders()


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
    num_layers = model.config.get_text_config(decoder=True).num_hidden_layers
    parts = (model.get_decoder() or model).modules()  # outer lists come first
    blocks = next((part for part in parts if isinstance(part, nn.ModuleList) and len(part) == num_layers), None)
    return None if blocks is None else blocks[num_layers // 2]


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
def recording(recorders: Mapping[nn.Module, Recorder | StatesRecorder]) -> Iterator[None]:
    """Send what this thread hands to these modules, attention calls or hidden states, to their recorders."""
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


def _tapped(attend: AttentionFunction) -> AttentionFunction:
    if getattr(attend, "is_tapped", False):
        return attend

    @functools.wraps(attend)
    def tapped(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> Any:
        record: Any = _recorders.by_module.get(module)
        if record is not None:
            record(query, key, attention_mask, kwargs)
        return attend(module, query, key, value, attention_mask, **kwargs)

    tapped.is_tapped = True  # type: ignore[attr-defined]  # marks the wrapper, so that it is never wrapped again
    return tapped
