"""Names that a training run gave to weights are understood; weights that are missing, unused or doubled are refused."""

import json
import re
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from rauq.checkpoints.model_info import inspect_model, model_facts
from rauq.errors import ModelNotFound, RauqError, UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import byte_tokenizer, named, tiny_model
from tests.local_hub import publish
from tests.tiny import PROMPT

WEIGHTS = "model.safetensors"
KINDS = {"llama": {}, "tied": {"tie_word_embeddings": True}, "gpt2": {}, "mixtral": {}}
PREFIXES = ["_orig_mod.", "base_model.model.", "model.", "_forward_module.module."]
BLOCK = re.compile(r"layers\.(\d+)\.")


@pytest.fixture(scope="module", params=KINDS)
def kind(request, tmp_path_factory):
    """A folder, and what its model says."""
    folder = tmp_path_factory.mktemp(request.param) / "model"
    tiny_model(named(request.param.replace("tied", "llama")), **KINDS[request.param]).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder, load_model(folder).read(PROMPT, "abc").logprobs


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama") / "model"
    tiny_model(named("llama")).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def with_weights(source, folder, change, **settings):
    """A copy of a folder with changed weights and config."""
    shutil.copytree(source, folder)
    save_file(change(load_file(source / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})
    config = json.loads((source / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    return folder


def renamed(rename):
    return lambda weights: {rename(name): array for name, array in weights.items()}


def without(*names):
    return lambda weights: {name: array for name, array in weights.items() if name not in names}


def also(**more):
    return lambda weights: weights | {name.replace("__", "."): array for name, array in more.items()}


def numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_beginning_of_all_names_is_left_out_and_said(kind, tmp_path, prefix):
    folder, expected = kind
    spoilt = with_weights(folder, tmp_path / "model", renamed(lambda name: prefix + name))
    np.testing.assert_array_equal(load_model(spoilt).read(PROMPT, "abc").logprobs, expected)
    assert f"without {prefix.replace('.module', '. and module')} in their names" in model_facts(inspect_model(spoilt))
    assert "in their names" not in model_facts(inspect_model(folder))


@pytest.mark.parametrize(
    "rename",
    [
        lambda name: BLOCK.sub(r"layers.\1._orig_mod.", name),
        lambda name: "_fsdp_wrapped_module." + BLOCK.sub(r"layers.\1._fsdp_wrapped_module._orig_mod.", name),
    ],
)
def test_wrappers_around_blocks_are_left_out(saved, tmp_path, rename):
    spoilt = with_weights(saved, tmp_path / "model", renamed(rename))
    expected = load_model(saved).read(PROMPT, "abc").logprobs
    np.testing.assert_array_equal(load_model(spoilt).read(PROMPT, "abc").logprobs, expected)


def test_a_model_without_its_head_is_used_only_where_the_embeddings_are_its_head(kind, tmp_path):
    folder, expected = kind
    bare = renamed(lambda name: name.removeprefix("model.").removeprefix("transformer."))
    headless = with_weights(folder, tmp_path / "model", lambda weights: without("lm_head.weight")(bare(weights)))
    if json.loads((folder / "config.json").read_text())["tie_word_embeddings"]:
        np.testing.assert_array_equal(load_model(headless).read(PROMPT, "abc").logprobs, expected)
    else:
        with pytest.raises(UnsupportedModel, match=r"lack 1 tensors, such as lm_head\.weight; .* would be random"):
            load_model(headless)


LATER = {"model.layers.3.eh_proj.weight": numbers(3)}
NORM, QUERY = "model.norm.weight", "model.layers.0.self_attn.q_proj"
LORA = {f"{QUERY}.lora_A.weight": numbers(2, 32), f"{QUERY}.lora_B.weight": numbers(32, 2)}


@pytest.mark.parametrize(
    ("change", "settings", "says"),
    [
        (without(NORM), {}, rf"lack 1 tensors, such as {NORM}"),
        (dict, {"num_hidden_layers": 4}, r"lack 9 tensors, such as model\.layers\.3"),
        (dict, {"num_hidden_layers": 2}, r"9 tensors that LlamaForCausalLM does not use, such as model\.layers\.2"),
        (dict, {"attention_bias": True}, r"lack 12 tensors, such as .*k_proj\.bias"),
        (also(**{f"{QUERY}.bias": numbers(32)}), {}, r"1 tensors that .* does not use, such as .*q_proj\.bias"),
        (also(lm_head__bias=numbers(260)), {}, r"does not use, such as lm_head\.bias"),
        (also(model__embed_layernorm__weight=numbers(32)), {}, r"does not use, such as model\.embed_layernorm\.weight"),
        (also(model__scale=numbers(1)), {}, r"does not use, such as model\.scale"),
        (also(model__mtp_gate__weight=numbers(1)), {}, r"does not use, such as model\.mtp_gate"),
        (also(model__layers__0__mtp_gate__weight=numbers(3)), {}, r"does not use, such as .*\.mtp_gate\.weight"),
        (also(model__layers__0__mtp__weight=numbers(3)), {}, r"does not use, such as .*\.mtp\.weight"),
        (also(**LORA), {}, r"such as .*lora_A.*adapters that are part of the weights must be merged"),
        (also(**{f"{QUERY}.weight_scale": numbers(1)}), {}, r"does not use, such as .*weight_scale"),
        (renamed(lambda name: name.replace("self_attn", "attn")), {}, r"lack 12 .* It has others, such as .*\.attn\."),
        (also(_orig_mod__model__norm__weight=numbers(32)), {}, rf"twice, under two names, such as {NORM}"),
        (lambda weights: weights | {"norm.weight": numbers(32)}, {}, rf"twice, under two names, such as {NORM}"),
        (lambda weights: weights | {NORM: torch.ones(32, dtype=torch.int8)}, {}, rf"whole numbers, such as {NORM}"),
        (also(model__norm__weight=numbers(1)), {}, rf"another shape .* such as {NORM}: \(1,\), not \(32,\)"),
        (dict, {"vocab_size": 250}, r"another shape .* such as lm_head\.weight: \(260, 32\), not \(250, 32\)"),
        (lambda _: {"x": numbers(1)}, {}, "lack 30 tensors"),
    ],
)  # fmt: skip
def test_weights_that_would_be_random_or_have_no_effect_are_refused_by_name(saved, tmp_path, change, settings, says):
    spoilt = with_weights(saved, tmp_path / "model", change, **settings)
    with pytest.raises(RauqError, match=says) as refused:
        load_model(spoilt)
    assert isinstance(refused.value, UnsupportedModel | ModelNotFound)


def test_whole_numbers_in_the_shards_of_a_hub_model_are_found_at_its_first_load(hub):
    folder, shard = publish(hub, "tiny/shards"), "model-00001-of-00001.safetensors"
    weights = load_file(folder / WEIGHTS) | {NORM: torch.ones(32, dtype=torch.int8)}
    save_file(weights, folder / shard, {"format": "pt"})
    (folder / f"{WEIGHTS}.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, shard)})
    )
    (folder / WEIGHTS).unlink()
    with pytest.raises(UnsupportedModel, match=rf"whole numbers, such as {NORM}"):
        load_model("tiny/shards")


def test_weights_that_a_run_saved_on_its_way_are_named(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "run")
    for step in (5, 10):
        shutil.copytree(saved, folder / f"checkpoint-{step}")
    (folder / WEIGHTS).unlink()
    with pytest.raises(
        ModelNotFound, match=r"no weights, but its subfolders do\. Give one of them: .*checkpoint-10, .*checkpoint-5\.$"
    ):
        inspect_model(folder)


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        ({f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": numbers(4) for layer in range(3)}, {}),
        ({"v_head.summary.weight": numbers(1, 32)}, {}),
        ({"mtp.layers.0.fc.weight": numbers(3)} | LATER, {"num_nextn_predict_layers": 1}),
        ({f"model.{name}.weight": numbers(3) for name in ("mtp.layers.0.x", "mtp_layers.0.x", "mtp_emb_norm.0")}, {}),
        ({"model.rotary_emb.inv_freq": numbers(4), "model.embed_positions._float_tensor": numbers(1)}, {}),
    ],
    ids=["rotary", "value head", "later tokens", "modules for later tokens", "buffers"],
)  # fmt: skip
def test_what_takes_no_part_in_the_next_token_may_be_there(saved, tmp_path, more, settings):
    spoilt = with_weights(saved, tmp_path / "model", lambda weights: weights | more, **settings)
    expected = load_model(saved).read(PROMPT, "abc").logprobs
    np.testing.assert_array_equal(load_model(spoilt).read(PROMPT, "abc").logprobs, expected)
