"""Tiny random models for images and text, with the configs that the models of each kind are published with."""

from types import MappingProxyType

import torch
from transformers import CONFIG_MAPPING, AutoModelForMultimodalLM

from tests.architectures import VOCABULARY, byte_tokenizer

TEXT = MappingProxyType(
    {
        **{"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256},
        **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0},
    }
)
VISION = MappingProxyType(
    {
        **{"hidden_size": 32, "embed_dim": 32, "intermediate_size": 64, "out_hidden_size": 32, "projection_dim": 32},
        **{"num_hidden_layers": 1, "depth": 1, "num_attention_heads": 4, "num_heads": 4, "image_size": 28},
        **{"patch_size": 14, "num_channels": 3},
    }
)
SECTIONS = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1}
FEW_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 64}

COMPOSITES = MappingProxyType(
    {
        "gemma3": ({}, {}),
        "llava": ({"model_type": "llama"}, {"model_type": "clip_vision_model"}),
        "llava_next": ({"model_type": "mistral"}, {"model_type": "clip_vision_model"}),
        "mistral3": ({"model_type": "mistral"}, {"model_type": "pixtral"}),
        "internvl": ({"model_type": "qwen2"}, {}),
        "smolvlm": ({"model_type": "llama"}, {}),
        "qwen2_vl": (SECTIONS, {}),
        "qwen2_5_vl": (SECTIONS, {}),
        "qwen3_vl": (SECTIONS, {}),
        "qwen3_vl_moe": ({**SECTIONS, **EXPERTS}, {}),
        "llama4": (FEW_EXPERTS, {}),
        "paligemma": ({"model_type": "gemma"}, {"model_type": "siglip_vision_model"}),
    }
)
"""Settings of the text and of the vision config, by model type."""


def composite_model(model_type):
    """A seeded random model of the whole, with its tower for images."""
    text, vision = COMPOSITES[model_type]
    config = CONFIG_MAPPING[model_type](text_config={**TEXT, **text}, vision_config={**VISION, **vision})
    torch.manual_seed(0)
    model = AutoModelForMultimodalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.normal_(std=0.2)
    return model


def save_composite(folder, model_type):
    """The whole model and a tokenizer in a folder; returns the model."""
    model = composite_model(model_type)
    model.save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return model
