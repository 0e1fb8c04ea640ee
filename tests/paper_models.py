"""The paper's nine models, by the names of `rauq.checkpoints.kinds`: type, real shape, and what makes a small one."""

LLAMA_8B = {
    **{"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32},
    **{"num_attention_heads": 32, "num_key_value_heads": 8},
}
LLAMA_3_ROPE = {
    **{"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 64,
}
# From each model's config.json: type, shape, and what makes its attention special at a size that a test can run.
SHAPES = {
    "Llama-3.1 8B": ("llama", LLAMA_8B, {"rope_parameters": LLAMA_3_ROPE}),
    "Llama-3.1 70B": (
        "llama",
        LLAMA_8B
        | {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64},
        {"rope_parameters": LLAMA_3_ROPE, "num_attention_heads": 8, "num_key_value_heads": 1},
    ),
    "Llama-3.1 8B-Instruct": ("llama", LLAMA_8B, {"rope_parameters": LLAMA_3_ROPE}),
    "Llama-3.2 1B": (
        "llama",
        LLAMA_8B
        | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True},
        {"rope_parameters": LLAMA_3_ROPE | {"factor": 32.0}, "tie_word_embeddings": True},
    ),
    "Qwen-2.5 7B": (
        "qwen2",
        {
            **{"vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28},
            **{"num_attention_heads": 28, "num_key_value_heads": 4},
        },
        {"use_sliding_window": False, "sliding_window": 16},
    ),
    "Gemma-2 9B": (
        "gemma2",
        {
            **{"vocab_size": 256000, "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42},
            **{"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "tie_word_embeddings": True},
        },
        {
            **{"head_dim": 16, "sliding_window": 12, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
            **{"query_pre_attn_scalar": 16, "tie_word_embeddings": True},
        },
    ),
    "Falcon-3 10B": (
        "llama",
        {
            **{"vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 23040, "num_hidden_layers": 40},
            **{"num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 256},
        },
        {"hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 16},
    ),
    "SmolLM-2 360M": (
        "llama",
        {
            **{"vocab_size": 49152, "hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32},
            **{"num_attention_heads": 15, "num_key_value_heads": 5, "tie_word_embeddings": True},
        },
        {"num_attention_heads": 6, "num_key_value_heads": 2, "hidden_size": 48, "tie_word_embeddings": True},
    ),
    "GPT-OSS 20B": (
        "gpt_oss",
        {
            **{"vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24},
            **{"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32},
        },
        {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 12},
    ),
}
