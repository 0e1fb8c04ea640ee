"""A KV connector that moves no keys: it says which rows to keep, and returns them with the finished request."""

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm import __version__ as vllm_version
from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
    KVConnectorRole,
    SupportsHMA,
)
from vllm.logger import init_logger
from vllm.model_executor.models.utils import extract_layer_index
from vllm.v1.request import RequestStatus

from rauq_vllm.attention import Softmax
from rauq_vllm.backend import CapturingAttention
from rauq_vllm.capture import Layer, Step
from rauq_vllm.check import LayerStep
from rauq_vllm.limits import MOST_OFFSETS, check
from rauq_vllm.plan import Asked, Part, layers_of, part_of
from rauq_vllm.rows import new_folder, take
from rauq_vllm.stream import file_of, write

_logger = init_logger(__name__)


@dataclass
class Plan(KVConnectorMetadata):
    """What the worker keeps of a step."""

    parts: tuple[Part, ...]


class RauqConnector(KVConnectorBase_V1, SupportsHMA):
    """One for the scheduler and one for the worker, as vLLM makes them."""

    def __init__(self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        check(vllm_config)
        given = vllm_config.kv_transfer_config.kv_connector_extra_config
        self.model: Any = vllm_config.model_config
        self.num_layers: int = self.model.hf_text_config.num_hidden_layers
        self.layers = layers_of(given.get("layers", "middle"), self.num_layers)
        self.offsets: int = given.get("offsets", 1)
        if not (type(self.offsets) is int and 1 <= self.offsets <= MOST_OFFSETS):
            message = f"offsets is {self.offsets!r}; give a number from 1 to {MOST_OFFSETS}."
            raise ValueError(message)
        self.shape = (len(self.layers), self.model.hf_text_config.num_attention_heads, self.offsets)
        self.groups: Any = kv_cache_config.kv_cache_groups
        self.asked: dict[str, Asked] = {}
        self.numbers = count()
        self.folder = new_folder() if role == KVConnectorRole.SCHEDULER else None
        self.step: Step | None = None
        self.captured: dict[str, Layer] = {}

    # Worker

    def register_kv_caches(self, kv_caches: dict[str, Tensor]) -> None:
        """See which layers are captured.

        Raises:
            ValueError: one of them has another attention than this plugin's, or no keys of its own.
        """
        attention = self._vllm_config.compilation_config.static_forward_context
        for group, names in enumerate(group.layer_names for group in self.groups):
            for name in set(names) & set(kv_caches):
                number, layer = extract_layer_index(name), attention[name].impl
                if number in self.layers:
                    self.captured[name] = Layer(self.layers.index(number), group, _softmax(name, layer))
        there = {self.layers[layer.number] for layer in self.captured.values()}
        if missing := [number for number in self.layers if number not in there]:
            message = f"Layers {', '.join(map(str, missing))} have no keys of their own. Leave them out of layers."
            raise ValueError(message)

    def bind_connector_metadata(self, connector_metadata: KVConnectorMetadata) -> None:
        """A step begins."""
        super().bind_connector_metadata(connector_metadata)
        parts = connector_metadata.parts if isinstance(connector_metadata, Plan) else ()
        rows = np.full((sum(len(part.positions) for part in parts), *self.shape), np.nan, np.float32)
        self.step = Step(parts, rows) if parts else None

    def note_attention(self, name: str, computed: LayerStep) -> None:
        """Keep the rows of a layer that was computed."""
        step, layer = self.step, self.captured.get(name)
        if step is not None and layer is not None:
            self._kept(f"rows of {name}", lambda: layer.note(step, computed))

    def wait_for_save(self) -> None:
        """A step has ended."""
        if self.step is not None:
            self._kept("rows", self.step.save)

    def note_logits(self, logits: Tensor) -> None:
        """Keep the entropies of the logits (S, V) that follow from the step."""
        step, self.step = self.step, None
        if step is not None:
            self._kept("entropies", lambda: step.save_entropies(logits))

    def _kept(self, what: str, keep: Callable[[], None]) -> None:
        """Run `keep`; if it fails, the values stay nan and are reported as missing."""
        try:
            with torch.inference_mode():
                keep()
        except Exception:  # an error here would end the engine, and every answer with it
            _logger.exception("rauq-vllm lost the %s of a step", what)

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Nothing: no keys are moved."""

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Nothing: no keys are moved."""

    def save_kv_layer(self, layer_name: str, kv_layer: Tensor, attn_metadata: Any, **kwargs: Any) -> None:
        """Nothing: no keys are moved."""

    # Scheduler

    @property
    def requires_kv_delivery(self) -> bool:
        """No: no keys are moved."""
        return False

    @classmethod
    def requires_piecewise_for_cudagraph(cls, extra_config: dict[str, Any]) -> bool:
        """A graph of a whole step would run without Python, and therefore without this plugin."""
        return True

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        """None: no keys are moved."""
        return 0, False

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        """Nothing: no keys are moved."""

    def on_new_request(self, request: Any) -> None:
        """Note a request that asks for weights."""
        if self.folder is not None and (request.kv_transfer_params or {}).get("rauq"):
            number = next(self.numbers)
            files = (self.folder.path / f"{number}.weights", self.folder.path / f"{number}.entropies")
            try:
                for file in files:
                    file.touch()
            except OSError:
                _logger.exception("rauq-vllm cannot keep the rows of a request")
            else:
                self.asked[request.request_id] = Asked(*files, request.num_prompt_tokens - 1)

    def build_connector_meta(self, scheduler_output: Any) -> Plan:
        """What the worker keeps of the step that was scheduled."""
        return Plan(tuple(self._parts(scheduler_output)))

    def _parts(self, scheduled: Any) -> Iterator[Part]:
        sizes = [group.kv_cache_spec.block_size for group in self.groups]
        for name, computed in _computed(scheduled):
            if name in self.asked and name in scheduled.num_scheduled_tokens:
                part = part_of(
                    self.asked[name],
                    computed=computed,
                    scheduled=scheduled.num_scheduled_tokens[name],
                    blocks=scheduled.kv_connector_block_state.get_block_ids(name),
                    sizes=sizes,
                )
                if part is not None:
                    yield part

    def request_finished_all_groups(
        self,
        request: Any,
        block_ids: Iterable[list[int]],
    ) -> tuple[bool, dict[str, Any] | None]:
        """The rows of a request that asked for them; their files are deleted, however it ended."""
        asked = self.asked.pop(request.request_id, None)
        if asked is None:
            return False, None
        tokens = {"first": asked.first, "count": request.num_output_tokens}
        weights = take(asked.weights, shape=self.shape, **tokens)
        entropies = take(asked.entropies, shape=(), **tokens)
        found = self._said(weights.transpose(1, 2, 0, 3), entropies)
        file = file_of(request.kv_transfer_params["rauq"])
        if file is not None and request.status != RequestStatus.FINISHED_ABORTED:
            self._kept("rows", lambda: write(file, found))
        return False, {"rauq": found}

    def _said(self, rows: np.ndarray, entropies: np.ndarray) -> dict[str, Any]:
        """The rows (L, H, N, K) and entropies (N,) for a client, and what it needs to know of the model."""
        inside = rows[:, :, 1:, 0]  # the first token's preceding one is in the prompt
        config = self.model.hf_text_config
        return {
            "schema": 1,
            "engine": f"vllm {vllm_version}",
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "quantisation": self.model.quantization or "",
            "revision": self.model.revision or "",
            "num_layers": self.num_layers,
            "vocab_size": config.vocab_size,
            "layers": list(self.layers),
            "heads": inside.mean(-1).argmax(-1).tolist() if inside.shape[2] else None,
            "missing": int(np.isnan(rows[..., 0]).any((0, 1)).sum()),
            "entropies": [None if np.isnan(entropy) else float(entropy) for entropy in entropies],
            "shape": list(rows.shape),
            "attention": base64.b64encode(rows.astype("<f4").tobytes()).decode(),
        }

    def shutdown(self) -> None:
        """Remove the files."""
        if self.folder is not None:
            self.folder.remove()
            self.folder = None


def _computed(scheduled: Any) -> Iterator[tuple[str, int]]:
    """The requests of a step, and how many tokens of each are in the cache already."""
    yield from ((new.req_id, new.num_computed_tokens) for new in scheduled.scheduled_new_reqs)
    cached = scheduled.scheduled_cached_reqs
    yield from zip(cached.req_ids, cached.num_computed_tokens, strict=True)


def _softmax(name: str, layer: Any) -> Softmax:
    is_captured = isinstance(layer, CapturingAttention)
    if not is_captured:
        message = (
            f"{name} has the attention {type(layer).__name__}, which rauq-vllm does not capture. On a GPU, start vLLM "
            "with --attention-backend FLASH_ATTN or FLASHINFER."
        )
        raise ValueError(message)
    if layer.alibi_slopes is not None:
        message = f"{name} adds ALiBi slopes, which rauq-vllm does not compute."
        raise ValueError(message)
    return Softmax(
        scale=layer.scale,
        window=layer.window,
        softcap=layer.logits_soft_cap,
        sinks=layer.sinks,
    )
