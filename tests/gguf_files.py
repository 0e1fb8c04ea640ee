"""GGUF files for tests: tiny models of transformers, written by gguf's own writer with its own table of names.

What llama.cpp's converter does to the weights is written out here: queries and keys of llama are permuted, the norms of
Gemma hold 1 more, and the experts' two input matrices are apart.
"""

from pathlib import Path

import gguf
import numpy as np
from tokenizers import pre_tokenizers

from rauq.checkpoints.gguf.header import read_header
from rauq.checkpoints.gguf.tokenizer import read_tokenizer
from tests.architectures import EXPERTS, Architecture, named, tiny_model

# what each architecture of GGUF is written from
TINY = {
    "llama": named("llama"),
    "qwen2": named("qwen2"),
    "qwen2moe": Architecture("qwen2-moe", "qwen2_moe", {**EXPERTS, "shared_expert_intermediate_size": 24}),
    "qwen3": named("qwen3"),
    "qwen3moe": named("qwen3-moe"),
    "gemma2": named("gemma2-softcap-window"),
    "gemma3": named("gemma3-window"),
    "gpt-oss": named("gpt-oss-sinks-window"),
}
WINDOWS = {"gemma2": ["sliding_attention", "full_attention", "sliding_attention"], "gemma3": ["sliding_attention"] * 3}
YARN = {
    **{"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "rope_theta": 150_000.0},
    **{"beta_fast": 32.0, "beta_slow": 1.0, "truncate": False},
}
SCALED = {"type": "yarn", "factor": 32.0, "original_context_length": 4096}  # what a file of gpt-oss says of that
UNSCALED = {"rope_type": "default", "rope_theta": 150_000.0}  # llama.cpp rounds where YaRN's ramp begins and ends

BYTE_TOKENS = ["<pad>", "<s>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
BYTE_TOKENIZER = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": BYTE_TOKENS,
    "tokenizer.ggml.token_type": [3] * 4 + [1] * 256,
    "tokenizer.ggml.padding_token_id": 0,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 3,
    "tokenizer.ggml.add_bos_token": False,
}
# llama.cpp needs a merge, and tokenizers one whose result is a token: the last byte's token makes way for it
MERGED = {"tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.tokens": [*BYTE_TOKENS[:-1], "ab"]}


def save_gguf(path, architecture="llama", *, entries=(), tensors=(), without=(), **changes):
    """A tiny model with the byte tokenizer in one file; returns the model.

    `entries` and `tensors` are added or replace those of the model, `without` names what is left out.
    """
    if architecture in WINDOWS:
        changes = {"layer_types": WINDOWS[architecture], "query_pre_attn_scalar": 8, **changes}
    if architecture == "gpt-oss":
        changes = {"rope_parameters": UNSCALED, **changes}
    if architecture == "gemma2":  # it has no name for an output matrix of its own
        changes = {**changes, "tie_word_embeddings": True}
    model = tiny_model(TINY[architecture], **changes)
    every = {**entries_of(architecture, model.config), **BYTE_TOKENIZER, **dict(entries)}
    arrays = {**tensors_of(architecture, model), **dict(tensors)}
    kept = {name: array for name, array in arrays.items() if name not in without}
    write_gguf(path, architecture, {key: value for key, value in every.items() if key not in without}, kept)
    return model


def write_gguf(path, architecture, entries, tensors):
    """A GGUF file of these entries and tensors; a numpy array or number keeps its type, others get the usual one."""
    writer = gguf.GGUFWriter(Path(path), architecture)
    for key, value in entries.items():
        _add(writer, key, value)
    for name, array in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tokenizer_of(path, entries, architecture="llama"):
    """The tokenizer that is read from a file of these entries."""
    write_gguf(path, architecture, entries, {})
    return read_tokenizer(read_header(path))


def entries_of(architecture, config):
    """What the converter writes of a config."""
    settings = {
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "rope.freq_base": _theta(config.rope_parameters),
    }
    if not architecture.startswith("qwen2"):
        settings |= {"attention.key_length": config.head_dim, "attention.value_length": config.head_dim}
    if architecture == "llama":
        settings["rope.dimension_count"] = config.head_dim
    if architecture.endswith(("moe", "oss")):
        own = architecture == "gpt-oss"
        settings |= {
            "expert_count": config.num_local_experts if own else config.num_experts,
            "expert_used_count": config.num_experts_per_tok,
            "expert_feed_forward_length": config.intermediate_size if own else config.moe_intermediate_size,
        }
    if architecture == "qwen2moe":
        settings["expert_shared_feed_forward_length"] = config.shared_expert_intermediate_size
    if architecture.startswith(("gemma", "gpt")):
        settings["attention.sliding_window"] = config.sliding_window
    if architecture == "gemma2":
        settings |= {
            "attn_logit_softcapping": config.attn_logit_softcapping,
            "final_logit_softcapping": config.final_logit_softcapping,
        }
    return {"general.type": "model"} | {f"{architecture}.{key}": value for key, value in settings.items()}


def tensors_of(architecture, model):
    """The model's weights under GGUF's names, as the converter stores them."""
    config = model.config
    kind = next(kind for kind, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    arrays = {}
    for name, weights in model.state_dict().items():
        array, (stem, _, ending) = weights.float().numpy(), name.rpartition(".")
        if architecture == "gpt-oss" and "experts" in name:
            arrays |= _of_gpt_oss(f"blk.{name.split('.')[2]}", ending, array)
        elif name.endswith("sinks"):
            arrays[f"blk.{name.split('.')[2]}.attn_sinks.weight"] = array
        elif name.endswith("experts.gate_up_proj"):
            layer = f"blk.{name.split('.')[2]}"
            gate, up = np.split(array, 2, axis=1)
            arrays |= {f"{layer}.ffn_gate_exps.weight": gate, f"{layer}.ffn_up_exps.weight": up}
        elif name.endswith("experts.down_proj"):
            arrays[f"blk.{name.split('.')[2]}.ffn_down_exps.weight"] = array
        elif name.endswith("shared_expert_gate.weight"):
            arrays[f"blk.{name.split('.')[2]}.ffn_gate_inp_shexp.weight"] = array[0]
        elif not (config.tie_word_embeddings and stem == "lm_head"):
            arrays[f"{names.get_name(stem)}.{ending}"] = _converted(architecture, config, name, array)
    return arrays


def _of_gpt_oss(layer, name, array):
    kind = "bias" if name.endswith("bias") else "weight"
    turned = array.swapaxes(1, -1)  # (E, columns, rows), or a bias (E, columns) as it is
    if name.startswith("down"):
        return {f"{layer}.ffn_down_exps.{kind}": turned}
    gate, up = (array[..., turn::2].swapaxes(1, -1) for turn in range(2))
    return {f"{layer}.ffn_gate_exps.{kind}": gate, f"{layer}.ffn_up_exps.{kind}": up}


def _converted(architecture, config, name, array):
    if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        halves = array.reshape(heads, 2, -1, *array.shape[1:])
        return halves.swapaxes(1, 2).reshape(array.shape)
    return array + 1 if architecture.startswith("gemma") and name.endswith("norm.weight") else array


def _theta(parameters):
    return parameters.get("full_attention", parameters)["rope_theta"]


def _add(writer, key, value):
    if isinstance(value, np.ndarray | list):
        writer.add_array(key, value.tolist() if isinstance(value, np.ndarray) else value)
        return
    kinds = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        np.uint64: writer.add_uint64,
        np.int32: writer.add_int32,
        np.float64: writer.add_float64,
    }
    kinds[type(value)](key, value)
