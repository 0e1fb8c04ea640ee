"""Loading a model: the same model comes back, and everything else is refused with what to do."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertLMHeadModel,
    BertModel,
    T5Config,
    T5ForConditionalGeneration,
)

import rauq.model.language_model
from rauq.errors import InvalidInput, ModelNotFound, NonFiniteLogits, UnsupportedModel
from rauq.model.loading import load_model, wrap
from tests.architectures import VOCABULARY, byte_tokenizer, named, save_tiny, tiny_language_model, tiny_model
from tests.tiny import PROMPT, assert_close

WEIGHTS = "model.safetensors"
TEMPLATE = "[{{ messages[0].content }}]"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return save_tiny(folder)


@pytest.fixture
def folder(saved, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(saved, tmp_path / "model")


def configure(folder, **settings):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def change_weights(folder, change):
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def test_a_saved_model_comes_back(saved):
    lm, original = load_model(str(saved)), tiny_language_model(named("llama"))
    assert_close(lm.generate(PROMPT, max_new_tokens=8, stop=()), original.generate(PROMPT, max_new_tokens=8, stop=()))
    assert (lm.name, lm.revision, lm.kind, lm.dtype) == (str(saved), "local", "base", "float32")
    assert (lm.layers, lm.num_layers, lm.num_heads, lm.vocab_size) == ((0, 1, 2), 3, 4, VOCABULARY)
    assert (lm.context_length, lm.end_ids, lm.device.type) == (256, {2}, "cpu")
    assert lm.check().exact
    assert lm.check(PROMPT).exact


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_is_computed_in_and_captured_exactly(saved, dtype):
    lm = load_model(str(saved), dtype=dtype)
    check = lm.check(PROMPT)
    assert lm.dtype == dtype
    assert check.exact
    trace, same = lm.generate(PROMPT, max_new_tokens=5), load_model(str(saved)).read(PROMPT, "x")
    assert trace.attention.dtype == trace.logprobs.dtype == np.float32
    assert 1e-6 < abs(lm.read(PROMPT, "x").logprobs[0] - same.logprobs[0]) < 0.2


def test_there_are_no_gradients_and_no_dropout(saved):
    model = load_model(str(saved)).model
    assert not model.training
    assert not any(weights.requires_grad for weights in model.parameters())


def test_auto_is_a_device_that_is_here(saved):
    lm = load_model(str(saved), device="auto")
    assert lm.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["gpu", "meta", "cuda:99", "cpu0", ""])
def test_a_device_that_is_not_here_is_refused(saved, device):
    with pytest.raises(InvalidInput, match=rf"Device '{device}' is not available; choose auto, cpu"):
        load_model(str(saved), device=device)


def test_other_names_of_dtype_and_kind_are_refused(saved):
    with pytest.raises(InvalidInput, match="Unknown dtype 'int8'; choose one of auto, float32, bfloat16, float16"):
        load_model(str(saved), dtype="int8")
    with pytest.raises(InvalidInput, match="Unknown kind 'chat'; choose one of base, instruct"):
        load_model(str(saved), kind="chat")


@pytest.mark.parametrize(
    ("name", "template", "kind"),
    [
        ("tiny-Instruct", TEMPLATE, "instruct"),
        ("tiny-chat-v2", TEMPLATE, "instruct"),
        ("gemma-2-9b-it", TEMPLATE, "instruct"),
        ("tiny-Instruct", None, "base"),
        ("tiny-base", TEMPLATE, "base"),
        ("models-base/tiny", TEMPLATE, "instruct"),
        ("tiny", TEMPLATE, "instruct"),
        ("italian-literature", TEMPLATE, "instruct"),
        ("models-for-chat/tiny", TEMPLATE, "instruct"),
    ],
)
def test_the_kind_is_read_from_the_models_name_and_the_template(saved, tmp_path, name, template, kind):
    folder = shutil.copytree(saved, tmp_path / name)
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    assert load_model(str(folder)).kind == kind
    assert load_model(str(folder), kind="instruct").kind == "instruct"


def test_layers_that_wait_on_disk_give_the_same_trace(saved, tmp_path):
    """What accelerate does with a model that fits no device: its weights come when they are needed."""
    places = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.norm": "cpu", "lm_head": "cpu"}
    places |= {"model.layers.1": "disk", "model.layers.2": "disk", "model.rotary_emb": "cpu"}
    model = AutoModelForCausalLM.from_pretrained(saved, device_map=places, offload_folder=tmp_path, dtype="float32")
    assert model.model.layers[1].self_attn.q_proj.weight.is_meta
    lm, original = wrap(model, byte_tokenizer(), name="tiny"), tiny_language_model(named("llama"))
    options = {"max_new_tokens": 8, "stop": (), "last_row": True}
    assert_close(lm.generate(PROMPT, **options), original.generate(PROMPT, **options))
    for trace, alone in zip(lm.sample(PROMPT, seed=1), original.sample(PROMPT, seed=1), strict=True):
        assert_close(trace, alone)


# What cannot be loaded.


def only_pickled_weights(folder):
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def test_pickled_weights_are_never_opened(folder, monkeypatch):
    only_pickled_weights(folder)
    opened = []
    monkeypatch.setattr(torch, "load", lambda *args, **_options: opened.append(args))
    with pytest.raises(ModelNotFound, match="pickled"):
        load_model(str(folder))
    assert opened == []


def test_weights_that_lack_a_tensor_are_not_filled_up_at_random(folder):
    change_weights(folder, lambda weights: weights.pop("model.layers.1.self_attn.q_proj.weight"))
    with pytest.raises(UnsupportedModel, match=r"lack 1 tensors, such as model\.layers\.1\.self_attn\.q_proj\.weight"):
        load_model(str(folder))


def test_a_config_of_more_layers_than_the_weights_have_is_refused(folder):
    configure(folder, num_hidden_layers=4)
    with pytest.raises(UnsupportedModel, match=r"lack 9 tensors, such as model\.layers\.3"):
        load_model(str(folder))


def test_weights_that_are_not_numbers_are_refused(folder):
    change_weights(folder, lambda weights: weights["model.layers.1.self_attn.q_proj.weight"].fill_(torch.nan))
    with pytest.raises(NonFiniteLogits, match="check its weights"):
        load_model(str(folder))


def test_code_that_comes_with_a_model_is_never_run(folder, tmp_path):
    ran = tmp_path / "ran"
    for name in ("configuration_mine.py", "modeling_mine.py"):
        (folder / name).write_text(f"open({str(ran)!r}, 'w')\n")
    auto = {"AutoConfig": "configuration_mine.Mine", "AutoModelForCausalLM": "modeling_mine.Mine"}
    configure(folder, model_type="mine", auto_map=auto)
    with pytest.raises(UnsupportedModel, match="its own code, which is never run"):
        load_model(str(folder))
    configure(folder, model_type="llama")
    assert load_model(str(folder)).check().exact  # the class of transformers, not theirs
    assert not ran.exists()


SMALL_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SMALL_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: T5ForConditionalGeneration(T5Config(vocab_size=260, **SMALL_T5)), "is an encoder-decoder"),
        (lambda: BertModel(BertConfig(vocab_size=260, **SMALL_BERT)), "is not a causal language model"),
        (lambda: BertForMaskedLM(BertConfig(vocab_size=260, **SMALL_BERT)), "is not a causal language model"),
        (lambda: BertLMHeadModel(BertConfig(vocab_size=260, **SMALL_BERT)), "attends to later tokens"),
    ],
    ids=["T5", "BERT", "masked", "BERT as a language model"],
)
def test_models_that_are_not_causal_are_refused(tmp_path, make, says):
    make().save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModel, match=says):
        load_model(str(tmp_path))


def test_a_model_that_writes_no_text_is_refused(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "vit"}))
    with pytest.raises(UnsupportedModel, match="is not a causal language model"):
        load_model(str(folder))


def test_a_model_whose_capture_is_not_exact_is_refused_with_the_differences(monkeypatch):
    build = rauq.model.generation.build_trace
    monkeypatch.setattr(
        rauq.model.generation,
        "build_trace",
        lambda *args, attention, **rest: build(*args, attention=attention * 1.1, **rest),
    )
    with pytest.raises(UnsupportedModel, match=r"attention check of tiny failed.*NOT exact: 3 layers.*tolerated"):
        wrap(tiny_model(named("llama")), byte_tokenizer(), name="tiny")


def test_checking_is_for_short_texts():
    lm = tiny_language_model(named("llama"), max_position_embeddings=4096)
    assert lm.check(np.arange(100)).exact
    with pytest.raises(InvalidInput, match="up to 1024 tokens, not 1025"):
        lm.check("x" * 1025)
