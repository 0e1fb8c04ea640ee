"""Tiny random models of many architectures, each with the special feature of its attention."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from rauq.model.language_model import LanguageModel
from rauq.model.loading import wrap

VOCABULARY = 260
HEAD_WIDTH = 8


@dataclass(frozen=True)
class Architecture:
    """A row of the table: model type, its own settings, and the layers that must be captured."""

    name: str
    model_type: str
    settings: dict[str, Any] = field(default_factory=dict)
    layers: tuple[int, ...] = (0, 1, 2)
    stepwise: bool = False
    std: float = 0.2  # of the random weights: enough for attention that is far from uniform
    scores: float = 0.0  # what its largest scores reach about, where they are raised on purpose

    def __str__(self) -> str:
        return self.name


WINDOW = {"sliding_window": 12}
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
OLD_NAMES = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 256}

ARCHITECTURES = (
    Architecture("llama", "llama"),
    Architecture("qwen2", "qwen2"),
    Architecture(
        "qwen2-mixed-window",
        "qwen2",
        {**WINDOW, "use_sliding_window": True, "layer_types": ["full_attention", *MIXED[:2]]},
    ),
    Architecture("qwen3", "qwen3", {"head_dim": 8}),
    Architecture("qwen3-moe", "qwen3_moe", {**EXPERTS, "head_dim": 8}),
    Architecture("mixtral", "mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    Architecture("mistral-window", "mistral", WINDOW),
    Architecture(
        "gemma2-softcap-window",
        "gemma2",
        {**WINDOW, "head_dim": 8, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 8, "layer_types": MIXED},
    ),
    Architecture("gemma3-window", "gemma3_text", {**WINDOW, "head_dim": 8, "layer_types": MIXED}),
    Architecture(
        "gpt-oss-sinks-window",
        "gpt_oss",
        {**WINDOW, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "layer_types": MIXED},
    ),
    Architecture("phi3-window", "phi3", WINDOW),
    Architecture("gpt2", "gpt2", OLD_NAMES),
    Architecture("gpt2-scaled-by-layer", "gpt2", {**OLD_NAMES, "scale_attn_by_inverse_layer_idx": True}),
    Architecture("gpt-neox", "gpt_neox"),
    Architecture("opt", "opt", {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    Architecture("olmo2", "olmo2"),
    Architecture("olmo3-window", "olmo3", {**WINDOW, "layer_types": MIXED}),
    Architecture("granite", "granite", {"attention_multiplier": 0.3}),
    Architecture("cohere2-window", "cohere2", {**WINDOW, "layer_types": MIXED}),
    Architecture(
        "deepseek-v3",
        "deepseek_v3",
        {
            **{"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8},
            **{"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "n_shared_experts": 1},
            **{"moe_intermediate_size": 32, "first_k_dense_replace": 1, "num_key_value_heads": 4},
        },
    ),
    Architecture(
        "llama4-chunked",
        "llama4_text",
        {
            **{"attention_chunk_size": 16, "head_dim": 8, "intermediate_size_mlp": 64, "num_local_experts": 4},
            **{"num_experts_per_tok": 1, "layer_types": ["chunked_attention", "full_attention", "chunked_attention"]},
        },
    ),
    Architecture("stablelm", "stablelm"),
    Architecture(
        "qwen3-next-hybrid",
        "qwen3_next",
        {
            **EXPERTS,
            **{"num_hidden_layers": 4, "head_dim": 8, "shared_expert_intermediate_size": 32},
            **{"layer_types": ["linear_attention"] * 3 + ["full_attention"], "linear_num_value_heads": 4},
            **{"linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8},
        },
        layers=(3,),
        std=0.1,  # its recurrent layers amplify rounding: a padded and a plain batch differ by themselves
    ),
    Architecture(
        "jamba-hybrid",
        "jamba",
        {
            **{"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4},
            **{"mamba_d_state": 4, "mamba_dt_rank": 4, "use_mamba_kernels": False},
        },
        layers=(1, 3),
    ),
    Architecture(
        "gemma4-shared-keys",
        "gemma4_text",
        {
            **{**WINDOW, "num_hidden_layers": 4, "head_dim": 8, "global_head_dim": 8, "num_kv_shared_layers": 2},
            **{"layer_types": ["sliding_attention", "full_attention"] * 2, "hidden_size_per_layer_input": 8},
            **{"vocab_size_per_layer_input": VOCABULARY},
        },
        layers=(0, 1, 2, 3),
    ),
    Architecture(
        "bamba-hybrid",
        "bamba",
        {
            **{"num_hidden_layers": 3, "attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_head": 16},
            **{"mamba_d_state": 8, "mamba_n_groups": 1, "mamba_expand": 2},
        },
        layers=(1,),
        std=0.1,
    ),
    Architecture("falcon", "falcon", {"new_decoder_architecture": False}, stepwise=True),
    Architecture("falcon-alibi", "falcon", {"alibi": True, "new_decoder_architecture": False}, stepwise=True),
    Architecture("bloom", "bloom", {"n_layer": 3, "n_head": 4}, stepwise=True),
    Architecture("gptj", "gptj", {**OLD_NAMES, "rotary_dim": 4}, stepwise=True),
    Architecture("mpt", "mpt", {"d_model": 32, "n_heads": 4, "n_layers": 3, "max_seq_len": 256}, stepwise=True),
    # Real Qwen2.5 has query and key biases that make large scores, so that float32 leaves few digits for differences.
    Architecture("qwen2-scores-100", "qwen2", scores=100, std=0.05),
    Architecture("qwen2-scores-500", "qwen2", scores=500, std=0.05),
    Architecture(
        "gpt-oss-scores-500",
        "gpt_oss",
        {**WINDOW, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "layer_types": MIXED},
        scores=500,
        std=0.05,
    ),
    Architecture("bloom-scores-500", "bloom", {"n_layer": 3, "n_head": 4}, stepwise=True, scores=500, std=0.05),
)


def tiny_model(architecture: Architecture, **changes: Any) -> PreTrainedModel:
    """A seeded random model with attention that is far from uniform."""
    config_class = CONFIG_MAPPING[architecture.model_type]
    common = {
        **{"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256},
        **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": False},
    }
    config = config_class(**{**common, **architecture.settings, **changes})
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, **({"attn_implementation": "eager"} if architecture.stepwise else {})
    ).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1:
                weights.normal_(std=architecture.std)
            elif "sink" in name:
                weights.normal_().add_(architecture.scores)
        if architecture.scores:
            raise_scores(model, architecture.scores)
    return model


@torch.no_grad()
def raise_scores(model: PreTrainedModel, scores: float) -> None:
    """Give all queries and keys a large common part, as the biases of trained models do: scores of about this size.

    It lies in the pair of dimensions that rotates least, so the scores are large and still close to each other.
    """
    for name, bias in model.named_parameters():
        if re.search(r"(q_proj|k_proj)\.bias$", name):
            heads = bias.view(-1, HEAD_WIDTH)
        elif name.endswith("query_key_value.bias"):
            heads = bias.view(-1, 3, HEAD_WIDTH)[:, :2]
        else:
            continue
        heads[..., [HEAD_WIDTH // 2 - 1, -1]] += (scores / 2) ** 0.5 * HEAD_WIDTH**0.25


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer without merges: id 4 + byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<pad>", "<s>", "</s>", "<unk>", *alphabet]
    tokenizer = Tokenizer(models.BPE({name: place for place, name in enumerate(names)}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def tiny_language_model(architecture: Architecture, **changes: Any) -> LanguageModel:
    """The tiny model with the byte tokenizer, checked as every model is."""
    return wrap(tiny_model(architecture, **changes), byte_tokenizer(), name=f"tiny-{architecture}")


def seeded_prompts(*lengths: int) -> list[list[int]]:
    """Random prompts of these lengths, without special tokens."""
    random = np.random.default_rng(0)
    return [random.integers(4, VOCABULARY, length).tolist() for length in lengths]


def named(name: str) -> Architecture:
    """The row of that name."""
    return next(row for row in ARCHITECTURES if row.name == name)


def save_tiny(folder, name="llama"):
    """A tiny model and its tokenizer in a folder, as `save_pretrained` writes them."""
    tiny_model(named(name)).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder
