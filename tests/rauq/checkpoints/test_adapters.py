"""Adapters of PEFT, alone or beside a model, count and are named; what cannot be used is refused."""

import json
import shutil
import socket
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from peft import IA3Config, LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from rauq.checkpoints.model_info import inspect_model, model_facts, model_lines
from rauq.checkpoints.named import ATLAS
from rauq.errors import InvalidInput, MissingPackage, RauqError
from rauq.model.loading import load_model, wrap
from tests.architectures import byte_tokenizer, save_tiny
from tests.gguf_files import save_gguf
from tests.local_hub import COMMIT, publish, published_gguf
from tests.tiny import PROMPT

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
BASE = "base_model_name_or_path"
TEMPLATE = "[{{ messages[0].content }}]"

# PEFT asks a model for what transformers calls old
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("models") / "base")


@pytest.fixture(scope="module")
def adapter(base):
    """A folder with a LoRA that names its base by a path from its own folder."""
    folder = base.parent / "mine"
    trained(base, lora()).save_pretrained(folder)
    configure(folder, base_model_name_or_path="../base")
    return folder


@pytest.fixture
def folder(adapter, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(adapter.parent / "base", tmp_path / "base")
    return shutil.copytree(adapter, tmp_path / "mine")


def lora(**options):
    return LoraConfig(**{"r": 2, "target_modules": ["q_proj", "v_proj"], **options})


def trained(base, config, rows=None):
    """The base with an adapter of this config, whose weights are not those of the start of a training."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(base, dtype="float32")
    if rows is not None:
        model.resize_token_embeddings(rows, mean_resizing=False)
    model = get_peft_model(model, config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.requires_grad:
                weights.add_(torch.randn_like(weights) / 10)
    return model


def configure(folder, **settings):
    path = folder / CONFIG
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def change_weights(folder, change):
    save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})


def read(lm):
    return lm.read(PROMPT, "abc").logprobs


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        (lora(target_modules="all-linear", use_dora=True, bias="lora_only"), None),
        (lora(modules_to_save=["lm_head"], use_rslora=True, rank_pattern={"v_proj": 1}), None),
        (lora(modules_to_save=["lm_head", "embed_tokens"]), 264),
        (lora(), 264),
        (lora(trainable_token_indices=[97, 98]), None),
        (IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]), None),
    ],
    ids=["dora", "head", "more tokens saved", "more tokens", "some tokens", "ia3"],
)
def test_an_adapter_gives_the_numbers_that_peft_gives(base, tmp_path, config, rows):
    model = trained(base, config, rows)
    model.save_pretrained(tmp_path, save_embedding_layers=rows is not None)
    lm = load_model(tmp_path)
    np.testing.assert_allclose(read(lm), read(wrap(model, byte_tokenizer())), atol=1e-6)
    assert np.abs(read(lm) - read(load_model(base))).max() > 1e-3
    assert lm.check(PROMPT).exact


def test_it_is_named_wherever_the_model_is(adapter, base, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lm, name = load_model(adapter), "mine (LoRA on base)"
    trace = lm.generate(PROMPT, max_new_tokens=2)
    trace.save(tmp_path / "answer.safetensors")
    info = inspect_model(adapter)
    assert lm.adapter == info.adapter == type(trace).load(tmp_path / "answer.safetensors").adapter == name
    assert f"with the adapter {name}" in model_facts(info)
    assert f"with the adapter {name}" in model_lines(info, tokens=0, beside=False)
    assert f"adapter {name}" in repr(lm)
    assert (lm.revision, load_model(base).adapter) == ("local", "")


def test_of_a_model_in_memory_only_adapters_with_an_effect_are_named(base):
    model = trained(base, lora())
    model.add_adapter("other", lora())
    wrapped = partial(wrap, model, byte_tokenizer())
    assert wrapped().adapter == "default (LoRA)"
    with model.disable_adapter():
        assert wrapped().adapter == ""
        np.testing.assert_array_equal(read(wrapped()), read(load_model(base)))
    model.set_adapter("other")
    assert wrapped().adapter == "other (LoRA)"
    model.base_model.set_adapter(["default", "other"])
    assert wrapped().adapter == "default (LoRA), other (LoRA)"
    model.merge_adapter(["default"])
    assert wrapped().adapter == "default (LoRA)"


def test_without_a_tokenizer_of_its_own_it_is_of_the_kind_of_its_base(hub, adapter, tmp_path):
    """Qwen2.5's base models have a chat template."""
    publish(hub, "Qwen/Qwen2.5-7B")
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(hub.root / "Qwen/Qwen2.5-7B")
    folder = shutil.copytree(adapter, tmp_path / "mine")
    configure(folder, **{BASE: "Qwen/Qwen2.5-7B"})
    assert inspect_model(folder).kind == "base"
    tokenizer.save_pretrained(folder)
    assert inspect_model(folder).kind == "instruct"


@pytest.mark.parametrize("typed", ["tiny.gguf", "../tiny.gguf"])
def test_its_base_may_be_a_gguf_file(folder, typed, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path_factory.mktemp("store")))
    model = PeftModel.from_pretrained(save_gguf(folder / typed), folder)
    configure(folder, **{BASE: typed}, revision="main")
    lm = load_model(folder)
    np.testing.assert_allclose(read(lm), read(wrap(model, byte_tokenizer())), atol=1e-5)
    assert np.abs(read(lm) - read(load_model(folder / typed))).max() > 1e-3
    assert lm.adapter == "mine (LoRA on tiny.gguf)"


def test_its_base_may_be_a_gguf_file_of_the_hub(hub, hub_cache, folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path_factory.mktemp("store")))
    configure(folder, **{BASE: published_gguf(hub, "base")})
    with pytest.raises(InvalidInput, match="device_map for a model with the adapter mine"):
        load_model(folder, device_map="auto")
    assert not list(hub_cache.rglob("*.gguf"))
    first = load_model(folder)  # which fetches the file
    assert np.abs(read(first) - read(load_model("tiny/base/tiny-F32.gguf"))).max() > 1e-3
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    again = load_model(folder)
    np.testing.assert_array_equal(again.read(PROMPT, "abc", chat=False).logprobs, read(first))
    assert len(again.encode("a").ids) == 3


def test_its_base_is_looked_for_from_its_own_folder_first(folder, tmp_path, monkeypatch):
    expected = read(load_model(folder))
    save_tiny(tmp_path / "elsewhere/base", "qwen2")
    (tmp_path / "elsewhere/here").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere/here")
    np.testing.assert_array_equal(read(load_model(folder)), expected)


def test_its_base_may_be_the_embedded_model(tmp_path):
    model = AutoModelForCausalLM.from_pretrained(ATLAS)
    get_peft_model(model, lora(target_modules="all-linear")).save_pretrained(tmp_path)
    configure(tmp_path, **{BASE: "atlas"})
    lm = load_model(tmp_path)
    assert lm.adapter == f"{tmp_path.name} (LoRA on atlas)"
    np.testing.assert_array_equal(read(lm), read(load_model("atlas")))  # it was not trained


def test_a_value_head_beside_it_is_no_model(adapter, folder):
    save_file({"v_head.summary.weight": torch.ones(1, 32)}, folder / "value_head.safetensors")
    lm = load_model(folder)
    assert lm.adapter == "mine (LoRA on base)"
    np.testing.assert_array_equal(read(lm), read(load_model(adapter)))


def test_beside_a_model_it_is_applied_to_that_one(adapter, folder):
    for name in (CONFIG, WEIGHTS):
        shutil.copy(adapter / name, folder.parent / "base")
    lm = load_model(folder.parent / "base")
    np.testing.assert_array_equal(read(lm), read(load_model(adapter)))
    assert lm.adapter == "base (LoRA)"


def test_its_own_tokenizer_is_used(folder):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    lm = load_model(folder)
    assert (lm.kind, lm.encode("a").text, len(lm.encode("a").ids)) == ("instruct", "a", 3)


def lost(name):
    return lambda folder: (folder / name).unlink()


def pickled_beside_a_gguf_file(folder):
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")
    save_gguf(folder / "tiny.gguf")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lost(CONFIG), "has adapter_model.safetensors and no adapter_config.json.*Add its config"),
        (pickled_beside_a_gguf_file, "no adapter_model.safetensors; pickled weights are never read"),
        (lambda folder: (folder / CONFIG).write_text("{"), r"adapter_config\.json is not valid JSON \(line 1,"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"x"), r"adapter_model\.safetensors is no safetensors file"),
        (lambda folder: configure(folder, peft_type=None), "names no peft_type"),
        (lambda folder: configure(folder, peft_type="ZETA"), "uses the method ZETA, which this version of peft"),
        (lambda folder: configure(folder, use_zeta=True), "uses the setting use_zeta, which this version of peft"),
        (lambda folder: configure(folder, **{BASE: None}), "does not name the model .* Write the model's folder"),
        (lambda folder: configure(folder, **{BASE: "/gone/x"}), "trained for '/gone/x', which is not here"),
        (lambda folder: configure(folder, **{BASE: "/gone/x.gguf"}), "trained for '/gone/x.gguf', which is not here"),
        (lambda folder: configure(folder, **{BASE: str(folder)}), "names itself as the model"),
        (lambda folder: configure(folder, r=3), "adapter in .* cannot be loaded .*size mismatch"),
        (lambda folder: change_weights(folder, lambda all_: dict(list(all_.items())[1:])), "lacks 1 tensors, such as"),
        (lambda folder: change_weights(folder, lambda all_: all_ | {"x": torch.ones(1)}), "1 tensors that do not fit"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(folder, spoil, says):
    spoil(folder)
    with pytest.raises(RauqError, match=says):
        load_model(folder)


def test_settings_of_a_newer_peft_that_are_off_do_not_matter(folder, adapter):
    configure(folder, use_zeta=False, enable_lora=None)
    np.testing.assert_array_equal(read(load_model(folder)), read(load_model(adapter)))


def test_a_prompt_an_adapter_of_an_adapter_and_a_spread_model_are_refused(adapter, base, tmp_path):
    get_peft_model(
        AutoModelForCausalLM.from_pretrained(base), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    ).save_pretrained(tmp_path)
    with pytest.raises(RauqError, match="learns virtual tokens before the prompt, which a trace cannot represent"):
        load_model(tmp_path)
    configured = shutil.copytree(adapter, tmp_path / "second")
    other = shutil.copytree(adapter, tmp_path / "other")
    for one, another in ((configured, other), (other, configured)):  # each names the other one
        configure(one, base_model_name_or_path=str(another))
    with pytest.raises(RauqError, match=r"adapter second .* is for a model that has an adapter too: other .* Merge"):
        load_model(configured)
    with pytest.raises(InvalidInput, match="device_map for a model with the adapter mine"):
        load_model(adapter, device_map="auto")


def test_without_peft_an_adapter_is_refused_with_that_word(adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)  # an import of it fails
    for look in (inspect_model, load_model):
        with pytest.raises(MissingPackage, match=r"mine has an adapter \(LoRA\), which needs peft: pip install peft"):
            look(adapter)


def test_an_adapter_of_the_hub_has_a_commit_and_is_put_on_its_base_there(hub, point_to, adapter):
    publish(hub, "tiny/llama")
    shutil.copytree(adapter, hub.root / "someone" / "mine")
    configure(hub.root / "someone" / "mine", **{BASE: "tiny/llama"})
    expected = read(load_model(adapter))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for reached in (True, False):
            if not reached:
                point_to(closed.getsockname())
            lm = load_model("someone/mine")
            np.testing.assert_allclose(read(lm), expected, atol=1e-6)
            assert (lm.name, lm.adapter, lm.revision) == ("someone/mine", "someone/mine (LoRA on tiny/llama)", COMMIT)


def test_pickled_weights_of_an_adapter_of_the_hub_are_refused_before_they_are_fetched(hub, point_to, adapter):
    publish(hub, "tiny/llama")
    folder = shutil.copytree(adapter, hub.root / "someone" / "pickled")
    configure(folder, **{BASE: "tiny/llama"})
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")
    for look in (inspect_model, load_model):
        with pytest.raises(RauqError, match=r"no adapter_model\.safetensors; pickled weights are never read"):
            look("someone/pickled")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        with pytest.raises(RauqError, match=r"adapter_model\.safetensors in the hub's cache, .* does not answer"):
            inspect_model("someone/pickled")


def test_beside_a_model_of_the_hub_it_is_not_left_out(hub, adapter):
    folder = publish(hub, "tiny/both")
    for name in (CONFIG, WEIGHTS):
        shutil.copy(adapter / name, folder)
    lm = load_model("tiny/both")
    np.testing.assert_allclose(read(lm), read(load_model(adapter)), atol=1e-6)
    assert lm.adapter == "tiny/both (LoRA)"
