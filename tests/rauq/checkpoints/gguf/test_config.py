import logging

import numpy as np
import pytest
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import rauq
from rauq.checkpoints.checkpoint import facts_of
from rauq.checkpoints.gguf.architectures import ARCHITECTURES
from rauq.checkpoints.gguf.config import llama3_factors, read_config, read_hyperparameters
from rauq.checkpoints.gguf.header import read_header
from rauq.errors import ModelNotFound, UnsupportedModel
from tests.gguf_files import SCALED, TINY, YARN, save_gguf
from tests.real_models import SMOLLM2

# What tests/architectures.py chooses of its own, and files cannot say or state as the model's default.
IGNORED = {"architectures", "transformers_version", "dtype", "torch_dtype", "router_aux_loss_coef", "_name_or_path"}


def comparable(config):
    return {key: value for key, value in config.to_dict().items() if key not in IGNORED}


def config_of(path):
    return read_config(read_header(path))


def test_every_architecture_is_written():
    assert TINY.keys() == ARCHITECTURES.keys()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("architecture", TINY)
def test_a_config_comes_back_from_the_file_that_was_written_from_it(tmp_path, architecture, tied):
    changes = {"norm_topk_prob": True, "num_experts_per_tok": 3} if architecture == "qwen3moe" else {}
    changes |= {"head_dim": 8} if architecture.startswith("qwen2") else {}
    model = save_gguf(tmp_path / "m.gguf", architecture, tie_word_embeddings=tied, rms_norm_eps=1e-5, **changes)
    read = config_of(tmp_path / "m.gguf")
    assert comparable(read) == comparable(model.config)
    assert read.architectures == [type(model).__name__]


@pytest.mark.parametrize("architecture", TINY)
def test_facts_are_those_of_the_model(tmp_path, architecture):
    tied = {"tie_word_embeddings": architecture == "gemma2"}
    model = save_gguf(
        tmp_path / "m.gguf", architecture, **tied, entries={"general.name": "Tiny", "general.file_type": 0}
    )
    header = read_header(tmp_path / "m.gguf")
    facts, sizes = facts_of(header), read_hyperparameters(header)
    assert rauq.inspect_model(tmp_path / "m.gguf").parameters == sum(weights.numel() for weights in model.parameters())
    assert (sizes.layers, sizes.heads, sizes.context_length, sizes.vocabulary) == (3, 4, 256, 260)
    assert (facts.names, facts.quantisation, facts.chat_template) == (("Tiny", "m.gguf"), "F32", None)
    assert facts.file_size == (tmp_path / "m.gguf").stat().st_size


def test_smollm2_is_known_before_its_weights_are_read():
    header = read_header(SMOLLM2)
    facts, sizes = facts_of(header), read_hyperparameters(header)
    assert (sizes.layers, sizes.heads, sizes.context_length, facts.quantisation) == (30, 9, 8192, "Q4_1")
    info = rauq.inspect_model(SMOLLM2)
    assert (info.architecture, info.parameters) == ("LlamaForCausalLM", 134_515_008)
    assert facts.names == ("Smollm2 135M 8k Lc100K Mix1 Ep2", "smollm2", "8k-lc100k-mix1-ep2", SMOLLM2.name)
    assert "<|im_start|>" in facts.chat_template
    config = config_of(SMOLLM2)  # the numbers of its config.json
    assert config.rope_parameters == {"rope_theta": 100_000.0, "rope_type": "default"}
    assert (config.hidden_size, config.intermediate_size, config.num_key_value_heads) == (576, 1536, 3)
    assert (config.rms_norm_eps, config.tie_word_embeddings, config.vocab_size) == (1e-5, True, 49152)


@pytest.mark.parametrize("kind", ["linear", "yarn", "none"])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_scaling_of_positions_is_supported(tmp_path, architecture, kind):
    scaling = {"type": kind, "factor": 4.0, "original_context_length": 64, "finetuned": True}
    entries = {f"{architecture}.rope.scaling.{key}": value for key, value in scaling.items()}
    save_gguf(tmp_path / "m.gguf", architecture, entries=entries)
    read = config_of(tmp_path / "m.gguf").rope_parameters
    expected = {
        "linear": {"rope_type": "linear", "factor": 4.0},
        "yarn": {
            **{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
            **{"beta_fast": 32.0, "beta_slow": 1.0},
        },
        "none": {"rope_type": "default"},
    }
    assert read == {"rope_theta": 10_000.0, **expected[kind]}


def test_positions_of_gpt_oss_are_scaled_without_rounding_where_that_begins_and_ends(tmp_path):
    entries = {f"gpt-oss.rope.scaling.{key}": value for key, value in SCALED.items()}
    model = save_gguf(tmp_path / "m.gguf", "gpt-oss", entries=entries, rope_parameters=YARN)
    assert config_of(tmp_path / "m.gguf").rope_parameters == model.config.rope_parameters == YARN


def test_a_factor_alone_is_linear_and_gemma3_scales_full_attention_alone(tmp_path):
    save_gguf(tmp_path / "old.gguf", entries={"llama.rope.scale_linear": 2.0})
    assert config_of(tmp_path / "old.gguf").rope_parameters["rope_type"] == "linear"
    scaled = {"gemma3.rope.scaling.type": "linear", "gemma3.rope.scaling.factor": 8.0}
    save_gguf(tmp_path / "gemma.gguf", "gemma3", entries=scaled)
    parameters = config_of(tmp_path / "gemma.gguf").rope_parameters
    assert parameters["full_attention"]["factor"] == 8.0
    assert parameters["sliding_attention"] == {"rope_type": "default", "rope_theta": 10_000.0}


@pytest.mark.parametrize(("architecture", "layers"), [("gemma2", 46), ("gemma3", 62)])  # Gemma 2 27B, Gemma 3 27B
def test_the_largest_gemmas_scale_queries_by_their_width(tmp_path, architecture, layers):
    windows = {"layer_types": ["sliding_attention"] * layers, "num_hidden_layers": layers, "head_dim": 4}
    save_gguf(tmp_path / "m.gguf", architecture, **windows)
    config = config_of(tmp_path / "m.gguf")
    assert (config.query_pre_attn_scalar, config.head_dim) == (8, 4)  # 32 / 4 heads
    period = {"gemma2": 2, "gemma3": 6}[architecture]
    whole = [place for place, kind in enumerate(config.layer_types) if kind == "full_attention"]
    assert whole == list(range(period - 1, layers, period))
    assert "scale" not in str(read_header(tmp_path / "m.gguf").metadata)


def test_windows_and_scales_that_the_file_states_come_first(tmp_path):
    stated = {"gemma3.attention.sliding_window_pattern": [True, False, False], "gemma3.attention.scale": 0.5}
    save_gguf(tmp_path / "m.gguf", "gemma3", entries={**stated, "gemma3.rope.freq_base_swa": 5000.0})
    config = config_of(tmp_path / "m.gguf")
    assert config.layer_types == ["sliding_attention", "full_attention", "full_attention"]
    assert config.query_pre_attn_scalar == 4
    assert config.rope_parameters["sliding_attention"]["rope_theta"] == 5000.0


@pytest.mark.parametrize("scalar", [224, 144, 168, 4096])
def test_a_scale_in_float32_is_the_whole_number_that_it_was_made_from(tmp_path, scalar):
    save_gguf(tmp_path / "m.gguf", "gemma2", entries={"gemma2.attention.scale": float(np.float32(scalar**-0.5))})
    assert config_of(tmp_path / "m.gguf").query_pre_attn_scalar == scalar


@pytest.mark.parametrize("wrong", [1.001, 1.5, 0.6])
def test_frequency_factors_that_are_not_llama3s_are_refused(tmp_path, wrong):
    factors = llama3_factors(theta=500_000.0, head=64, factor=32.0).astype(np.float32)
    factors[14] *= wrong
    theta = {"rope_parameters": {"rope_theta": 500_000.0, "rope_type": "default"}}
    save_gguf(tmp_path / "m.gguf", tensors={"rope_freqs.weight": factors}, head_dim=64, **theta)
    with pytest.raises(UnsupportedModel, match="rope_freqs"):
        config_of(tmp_path / "m.gguf")


@pytest.mark.parametrize(("factor", "head"), [(8.0, 128), (32.0, 64)])  # of Llama 3.1 and 3.2
def test_frequency_factors_of_llama3_are_supported(tmp_path, factor, head):
    theta = {"rope_parameters": {"rope_theta": 500_000.0, "rope_type": "default"}}
    factors = llama3_factors(theta=500_000.0, head=head, factor=factor).astype(np.float32)
    tensors = {"rope_freqs.weight": factors}
    save_gguf(tmp_path / "m.gguf", tensors=tensors, head_dim=head, **theta)
    config = config_of(tmp_path / "m.gguf")
    wanted = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    assert config.rope_parameters == {"rope_theta": 500_000.0, "rope_type": "llama3", "factor": factor, **wanted}
    plain = 500_000.0 ** (-np.arange(0, head, 2) / head)  # llama.cpp divides each frequency by its factor
    computed, scale = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    np.testing.assert_allclose(computed.numpy(), plain / factors, rtol=1e-6)
    assert scale == 1.0


def test_llama3_factors_are_those_of_a_published_file():
    # Llama-3.2-1B: the first and last of its 32 factors, and the one between them, from the converter's own formula
    # in plain numbers: frequency 500000 ** (-2 * 16 / 64) has the wavelength 4442.9, between 8192 / 4 and 8192.
    factors = llama3_factors(theta=500_000.0, head=64, factor=32.0)
    assert (factors[0], factors[-1]) == (1.0, 32.0)
    smooth = (8192 / 4442.882938158366 - 1) / 3
    assert factors[16] == pytest.approx(1 / ((1 - smooth) / 32 + smooth), rel=1e-12)


REFUSED_ENTRIES = {
    "an unknown entry": ("llama", {"llama.attention.temperature_length": 8192}),
    "experts in llama": ("llama", {"llama.expert_count": 8}),
    "a window in llama": ("llama", {"llama.attention.sliding_window": 128}),
    "a scale of the logits": ("llama", {"llama.logit_scale": 0.5}),
    "longrope": ("llama", {"llama.rope.scaling.type": "longrope", "llama.rope.scaling.factor": 4.0}),
    "its own attention factor": ("qwen2", {"qwen2.rope.scaling.type": "yarn", "qwen2.rope.scaling.attn_factor": 0.5}),
    "half of the head rotated": ("llama", {"llama.rope.dimension_count": 4}),
    "another value length": ("qwen3", {"qwen3.attention.value_length": 16}),
    "both directions": ("qwen3", {"qwen3.attention.causal": False}),
    "another scale": ("qwen3", {"qwen3.attention.scale": 0.5}),
    "a scale that is no size": ("gemma2", {"gemma2.attention.scale": 0.23}),
    "heads by layer": ("llama", {"llama.attention.head_count_kv": [2, 1, 2]}),
    "sigmoid gates": ("qwen3moe", {"qwen3moe.expert_gating_func": 2}),
    "pooling": ("qwen3", {"qwen3.pooling_type": 3}),
}


@pytest.mark.parametrize("case", REFUSED_ENTRIES)
def test_an_unsupported_entry_is_named(tmp_path, case):
    architecture, entries = REFUSED_ENTRIES[case]
    save_gguf(tmp_path / "m.gguf", architecture, entries=entries)
    with pytest.raises(UnsupportedModel) as refused:
        facts_of(read_header(tmp_path / "m.gguf"))
    assert any(key in str(refused.value) for key in entries)
    with pytest.raises(UnsupportedModel):
        config_of(tmp_path / "m.gguf")


REFUSED_TENSORS = {
    "unknown": ("llama", {"blk.0.attn_sinks.weight": np.ones(4, np.float32)}),
    "a bias": ("llama", {"blk.0.attn_q.bias": np.ones(32, np.float32)}),
    "a layer too many": ("llama", {"blk.3.attn_norm.weight": np.ones(32, np.float32)}),
    "factors of no known kind": ("llama", {"rope_freqs.weight": np.array([1, 2, 3, 4], np.float32)}),
    "factors that are no numbers": ("llama", {"rope_freqs.weight": np.array([1, 1, np.nan, 4], np.float32)}),
    "an output matrix in gemma2": ("gemma2", {"output.weight": np.ones((260, 32), np.float32)}),
    "factors elsewhere": ("qwen3", {"rope_freqs.weight": np.ones(4, np.float32)}),
}


@pytest.mark.parametrize("case", REFUSED_TENSORS)
def test_an_unsupported_tensor_is_named(tmp_path, case):
    architecture, tensors = REFUSED_TENSORS[case]
    save_gguf(tmp_path / "m.gguf", architecture, tensors=tensors)
    with pytest.raises(UnsupportedModel) as refused:
        facts_of(read_header(tmp_path / "m.gguf"))
    assert all(name in str(refused.value) for name in tensors)


def test_factors_of_one_change_nothing(tmp_path):
    model = save_gguf(tmp_path / "m.gguf", tensors={"rope_freqs.weight": np.ones(4, np.float32)})
    assert rauq.inspect_model(tmp_path / "m.gguf").parameters == sum(weights.numel() for weights in model.parameters())
    assert config_of(tmp_path / "m.gguf").rope_parameters["rope_type"] == "default"


CONTRADICTIONS = {
    "a missing entry": {"without": ["llama.context_length"]},
    "a missing tensor": {"without": ["blk.1.ffn_up.weight"]},
    "no end of layers": {"entries": {"llama.block_count": 2**31 - 1}},
    "more layers than tensors": {"entries": {"llama.block_count": 4}},
    "a size of zero": {"entries": {"llama.attention.head_count": 0}},
    "a size that is text": {"entries": {"llama.embedding_length": "32"}},
    "another width": {"entries": {"llama.embedding_length": 64}},
    "a negative epsilon": {"entries": {"llama.attention.layer_norm_rms_epsilon": -1.0}},
    "an endless theta": {"entries": {"llama.rope.freq_base": float("inf")}},
    "fewer tokens than rows": {"entries": {"tokenizer.ggml.tokens": ["a", "b"]}},
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_file_that_contradicts_itself_is_damaged(tmp_path, case):
    save_gguf(tmp_path / "m.gguf", **CONTRADICTIONS[case])
    with pytest.raises(ModelNotFound, match="not a usable GGUF file"):
        facts_of(read_header(tmp_path / "m.gguf"))


@pytest.mark.parametrize(
    ("entries", "said"),
    [({"general.type": "mmproj"}, "image projector, not"), ({"general.type": "adapter"}, "adapter")],
)
def test_other_than_a_language_model_is_refused(tmp_path, entries, said):
    save_gguf(tmp_path / "m.gguf", entries=entries)
    with pytest.raises(UnsupportedModel, match=said):
        facts_of(read_header(tmp_path / "m.gguf"))


def test_a_projector_is_known_by_its_name(tmp_path):
    save_gguf(tmp_path / "mmproj-model.gguf")
    with pytest.raises(UnsupportedModel, match="image projector"):
        facts_of(read_header(tmp_path / "mmproj-model.gguf"))


def test_an_unknown_architecture_lists_those_that_can_be_read(tmp_path):
    save_gguf(tmp_path / "m.gguf", entries={"general.architecture": "llama"})
    data = (tmp_path / "m.gguf").read_bytes().replace(b"llama", b"lmama")
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(UnsupportedModel) as refused:
        facts_of(read_header(tmp_path / "m.gguf"))
    assert all(name in str(refused.value) for name in ("lmama", *ARCHITECTURES))


def test_the_mix_of_types_stands_in_for_a_missing_file_type(tmp_path):
    save_gguf(tmp_path / "m.gguf")
    assert facts_of(read_header(tmp_path / "m.gguf")).quantisation == "F32"


def test_nothing_is_logged_of_a_config(tmp_path, caplog):
    scaling = {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0}
    save_gguf(tmp_path / "m.gguf", entries={**scaling, "llama.rope.scaling.original_context_length": 64})
    with caplog.at_level(logging.WARNING):
        config_of(tmp_path / "m.gguf")
    assert not caplog.records
