"""Settings of a training run do not refuse a model, and of a model for images and text the language model is used."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from rauq.checkpoints.architecture import read_config
from rauq.checkpoints.model_info import inspect_model, model_facts, model_lines
from rauq.errors import UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import save_tiny
from tests.composites import COMPOSITES, save_composite
from tests.tiny import PROMPT

FLASH = "flash_attention_2"
RUN_SETTINGS = [
    {"attn_implementation": FLASH, "return_dict": False},
    {"_attn_implementation": FLASH, "use_return_dict": False, "dtype": "auto", "device_map": "auto"},
    {"_attn_implementation_internal": FLASH, "torch_dtype": "bf16", "dtype": None, "pad_token_id": 260},
    {"attn_implementation": {"": FLASH}, "experts_implementation": "grouped_mm", "dtype": "torch.float16"},
    {"attn_implementation": "flex_attention", "use_cache": False, "output_attentions": True},
    {"pad_token_id": -1, "fusion_config": {"mlp": True}, "quantization_config": {}},
]
EXACT = [name for name in COMPOSITES if name != "paligemma"]


def configure(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def logprobs(saved):
    return load_model(saved).read(PROMPT, "abc").logprobs


@pytest.mark.parametrize("settings", RUN_SETTINGS, ids=",".join)
def test_how_a_run_computed_changes_nothing(saved, logprobs, tmp_path, settings):
    folder = shutil.copytree(saved, tmp_path / "model")
    configure(folder, lambda config: config.update(settings))
    lm = load_model(folder)
    np.testing.assert_array_equal(lm.read(PROMPT, "abc").logprobs, logprobs)
    assert lm.model.config.name_or_path == str(folder)


def test_how_weights_are_quantised_stays_as_it_is(saved, tmp_path):
    """Quark calls the type of the weights dtype."""
    folder = shutil.copytree(saved, tmp_path / "model")
    quantised = {"quant_method": "quark", "weight": {"dtype": "int4", "pad_token_id": -1}, "return_dict": True}
    configure(folder, lambda config: config.update(quantization_config=quantised, dtype="torch.float16"))
    where = {"revision": None, "local_files_only": True, "trust_remote_code": False}
    config = read_config(str(folder), where)
    assert (config.quantization_config, config.dtype) == (quantised, torch.float16)


@pytest.mark.parametrize("model_type", EXACT)
def test_the_language_model_of_a_composite_is_captured_exactly_and_read_alone(tmp_path, model_type):
    whole = save_composite(tmp_path, model_type)
    configure(tmp_path, lambda config: config["text_config"].update(_attn_implementation=FLASH, pad_token_id=9999))
    info, lm = inspect_model(tmp_path), load_model(tmp_path)
    assert lm.check(PROMPT).exact
    trace = lm.generate(PROMPT, max_new_tokens=4, stop=())
    ids = torch.tensor([[*trace.prompt_ids, *trace.answer_ids]])
    with torch.inference_mode():
        logits = whole(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0].double()
    rows = range(len(trace.prompt_ids) - 1, ids.shape[1] - 1)
    expected = logits.log_softmax(dim=-1)[rows, trace.answer_ids.tolist()]
    np.testing.assert_allclose(trace.logprobs, expected, atol=1e-5)
    held = sum(weights.numel() for weights in lm.model.parameters())
    assert held == info.parameters < sum(weights.numel() for weights in whole.parameters())
    assert not any("vision" in name or "visual" in name for name, _ in lm.model.named_parameters())
    note = "only text goes in: its parts for other input are not used"
    assert note in model_facts(info)
    assert note in model_lines(info, tokens=0, beside=False)


def test_a_composite_that_attends_to_later_tokens_is_refused(tmp_path):
    save_composite(tmp_path, "paligemma")
    with pytest.raises(UnsupportedModel, match="attends to later tokens: it is not a causal language model"):
        load_model(tmp_path)


def test_only_the_language_model_of_a_composite_has_to_be_whole(tmp_path):
    save_composite(tmp_path, "internvl")
    expected = load_model(tmp_path).read(PROMPT, "abc").logprobs
    weights = load_file(tmp_path / "model.safetensors")
    text = {f"module.{name}": array for name, array in weights.items() if name.startswith("language_model")}
    save_file(text, tmp_path / "model.safetensors", {"format": "pt"})
    np.testing.assert_array_equal(load_model(tmp_path).read(PROMPT, "abc").logprobs, expected)
    del text["module.language_model.model.norm.weight"]
    save_file(text, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(UnsupportedModel, match=r"lack 1 tensors, such as model\.language_model\.norm\.weight"):
        load_model(tmp_path)
