"""The architectures that can be read from GGUF files: each with its supported entries and its tensors.

An architecture, an entry or a tensor that is not in these tables is refused by name, since ignoring it would
silently give another model. Sources: llama.cpp's converter and `llama-arch.cpp`, and transformers' own table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_ROPE_SCALING = frozenset(
    f"rope.scaling.{name}"
    for name in (
        *("type", "factor", "original_context_length", "attn_factor"),
        *("yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"),
    )
)
_SUPPORTED = _ROPE_SCALING | {
    *("context_length", "embedding_length", "block_count", "feed_forward_length", "vocab_size"),
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
    *("attention.layer_norm_rms_epsilon", "attention.scale", "attention.causal"),
    *("rope.dimension_count", "rope.freq_base", "rope.scale_linear"),
}
_HARMLESS = frozenset({"rope.scaling.finetuned", "tensor_data_layout"})  # they say where weights come from
_GEMMA2 = frozenset({"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"})
_GEMMA3 = _GEMMA2 | {"attention.sliding_window_pattern", "rope.freq_base_swa"}
_EXPERTS = frozenset(
    {
        *("expert_count", "expert_used_count", "expert_feed_forward_length"),
        *("expert_weights_norm", "expert_gating_func"),
    }
)
_WINDOWS = frozenset({"attention.sliding_window", "attention.sliding_window_pattern"})

Shapes = Mapping[str, tuple[str, ...]]  # dimensions by their names in Hyperparameters, slowest first

_TOP: Shapes = MappingProxyType(
    {"token_embd.weight": ("vocabulary", "hidden"), "output_norm.weight": ("hidden",)},
)
OUTPUT = "output.weight"
ROPE_FACTORS = "rope_freqs.weight"

_ATTENTION = {
    "attn_norm.weight": ("hidden",),
    "attn_q.weight": ("queries", "hidden"),
    "attn_k.weight": ("keys", "hidden"),
    "attn_v.weight": ("keys", "hidden"),
    "attn_output.weight": ("hidden", "queries"),
    "ffn_norm.weight": ("hidden",),
}
_DENSE = {
    "ffn_gate.weight": ("feed_forward", "hidden"),
    "ffn_up.weight": ("feed_forward", "hidden"),
    "ffn_down.weight": ("hidden", "feed_forward"),
}
_BIASES = {"attn_q.bias": ("queries",), "attn_k.bias": ("keys",), "attn_v.bias": ("keys",)}
_QUERY_KEY_NORMS = {"attn_q_norm.weight": ("head",), "attn_k_norm.weight": ("head",)}
_POST_NORMS = {"post_attention_norm.weight": ("hidden",), "post_ffw_norm.weight": ("hidden",)}
_MIXTURE = {
    "ffn_gate_inp.weight": ("experts", "hidden"),
    "ffn_gate_exps.weight": ("experts", "expert_feed_forward", "hidden"),
    "ffn_up_exps.weight": ("experts", "expert_feed_forward", "hidden"),
    "ffn_down_exps.weight": ("experts", "hidden", "expert_feed_forward"),
}
_OF_GPT_OSS = {
    **{name: shape for name, shape in _ATTENTION.items() if name != "ffn_norm.weight"},
    **_BIASES,
    "attn_output.bias": ("hidden",),
    "attn_sinks.weight": ("heads",),
    "post_attention_norm.weight": ("hidden",),
    **_MIXTURE,
    "ffn_gate_inp.bias": ("experts",),
    "ffn_gate_exps.bias": ("experts", "expert_feed_forward"),
    "ffn_up_exps.bias": ("experts", "expert_feed_forward"),
    "ffn_down_exps.bias": ("experts", "hidden"),
}
_SHARED_EXPERT = {
    "ffn_gate_inp_shexp.weight": ("hidden",),
    "ffn_gate_shexp.weight": ("shared_feed_forward", "hidden"),
    "ffn_up_shexp.weight": ("shared_feed_forward", "hidden"),
    "ffn_down_shexp.weight": ("hidden", "shared_feed_forward"),
}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """An architecture of GGUF: its name in transformers, the entries it may have, and the tensors of each layer.

    Without output.weight the output uses the embedding matrix; an `always_tied` architecture never has output.weight.
    """

    model_type: str
    class_name: str
    layer: Shapes
    entries: frozenset[str] = frozenset()
    always_tied: bool = False
    rope_factors: bool = False  # whether it may have a factor for every frequency of its position embedding
    window: int | None = None  # tokens of a sliding window, where the file does not say
    window_period: int | None = None  # the last of every so many layers has full attention
    scale_by_width_at: int | None = None  # a model of so many layers scales queries by hidden / heads, not by head

    @property
    def supported(self) -> frozenset[str]:
        """The entries that are read or that change nothing, without the architecture's own name in front."""
        return _SUPPORTED | _HARMLESS | self.entries

    @property
    def has_experts(self) -> bool:
        """Whether its layers choose among experts."""
        return "expert_count" in self.entries


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "llama": Architecture(
            model_type="llama",
            class_name="LlamaForCausalLM",
            layer=_ATTENTION | _DENSE,
            rope_factors=True,
        ),
        "qwen2": Architecture(
            model_type="qwen2",
            class_name="Qwen2ForCausalLM",
            layer=_ATTENTION | _DENSE | _BIASES,
        ),
        "qwen2moe": Architecture(
            model_type="qwen2_moe",
            class_name="Qwen2MoeForCausalLM",
            layer=_ATTENTION | _BIASES | _MIXTURE | _SHARED_EXPERT,
            entries=_EXPERTS | {"expert_shared_feed_forward_length"},
        ),
        "qwen3": Architecture(
            model_type="qwen3",
            class_name="Qwen3ForCausalLM",
            layer=_ATTENTION | _DENSE | _QUERY_KEY_NORMS,
        ),
        "qwen3moe": Architecture(
            model_type="qwen3_moe",
            class_name="Qwen3MoeForCausalLM",
            layer=_ATTENTION | _QUERY_KEY_NORMS | _MIXTURE,
            entries=_EXPERTS,
        ),
        "gemma2": Architecture(
            model_type="gemma2",
            class_name="Gemma2ForCausalLM",
            layer=_ATTENTION | _DENSE | _POST_NORMS,
            entries=_GEMMA2,
            always_tied=True,
            window=4096,
            window_period=2,
            scale_by_width_at=46,
        ),
        "gemma3": Architecture(
            model_type="gemma3_text",
            class_name="Gemma3ForCausalLM",
            layer=_ATTENTION | _DENSE | _POST_NORMS | _QUERY_KEY_NORMS,
            entries=_GEMMA3,
            window_period=6,
            scale_by_width_at=62,
        ),
        "gpt-oss": Architecture(
            model_type="gpt_oss",
            class_name="GptOssForCausalLM",
            layer=_OF_GPT_OSS,
            entries=_EXPERTS | _WINDOWS,
            window=128,
            window_period=2,
        ),
    }
)

_LAYER_TENSOR = re.compile(r"blk\.(0|[1-9]\d{0,5})\.(.+)")


def tensor_dimensions(name: str, architecture: Architecture, *, layers: int) -> tuple[str, ...] | None:
    """The names of a tensor's dimensions, None where the architecture has no such tensor."""
    if match := _LAYER_TENSOR.fullmatch(name):
        return architecture.layer.get(match[2]) if int(match[1]) < layers else None
    if name == ROPE_FACTORS and architecture.rope_factors:
        return ("rotations",)
    if name == OUTPUT and not architecture.always_tied:
        return ("vocabulary", "hidden")
    return _TOP.get(name)


def required_tensors(architecture: Architecture, *, layers: int) -> list[str]:
    """The names of all tensors that a file of this architecture cannot lack."""
    return [*_TOP, *(f"blk.{layer}.{name}" for layer in range(layers) for name in architecture.layer)]
